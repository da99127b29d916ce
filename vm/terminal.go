package vm

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"nines.dev/nines/vm/guestagent"
)

// PassTerminal gives a command in a guest a terminal like ours. Until restore is called our
// terminal passes on every key, including Ctrl-C, and its new sizes. Standard input must be
// a terminal.
func PassTerminal(request *guestagent.Request, streams *guestagent.Streams) (restore func(), err error) {
	input := int(os.Stdin.Fd())
	before, err := term.MakeRaw(input)
	if err != nil {
		return nil, err
	}
	size := terminalSize(input)
	size.Term = os.Getenv("TERM")
	request.Terminal = &size
	resized, done := make(chan os.Signal, 1), make(chan struct{})
	sizes := make(chan guestagent.Terminal)
	streams.Resized = sizes
	signal.Notify(resized, unix.SIGWINCH)
	go func() {
		defer close(sizes)
		for {
			select {
			case <-resized:
			case <-done:
				return
			}
			select {
			case sizes <- terminalSize(input):
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(resized)
		close(done)
		_ = term.Restore(input, before)
	}, nil
}

func terminalSize(terminal int) guestagent.Terminal {
	columns, rows, err := term.GetSize(terminal)
	if err != nil {
		return guestagent.Terminal{Rows: 24, Columns: 80}
	}
	return guestagent.Terminal{Rows: uint16(rows), Columns: uint16(columns)}
}
