package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/plan"
	"nines.dev/nines/terminal"
)

func newLogsCommand() *cobra.Command {
	var named string
	var follow bool
	c := &cobra.Command{
		Use:   "logs NODE [SERVICE]",
		Short: "Show what a service of a node, its container or its guest has printed",
		Long: `Show the output of a service of a node: what it has written to its standard output and
standard error since it was started. nines keeps the newest 8 to 16 MiB. A node with one service
needs no name. Of an oci node without services it shows what the first process has printed, and
of a vm node what its guest has printed on its console; of these nines keeps the newest 2 to
4 MiB. If something is left out, the first line says how much.
--follow continues with what comes, until Ctrl-C or the end of what prints.`,
		Example: `  nines logs dut
  nines logs dut forwarder --follow
  nines logs dut forwarder --lab quickstart | tail`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return exit.Wrongf("name a node, and its service if it has several, as in: nines logs dut forwarder")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			l, err := labByFlag(named)
			if err != nil {
				return err
			}
			shown, err := oneLog(l, args)
			if err != nil {
				return err
			}
			return shown.show(c.Context(), c.OutOrStdout(), follow)
		},
	}
	labFlag(c, &named)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "continue with what comes")
	return c
}

// shownLog is a log, and what it is of.
type shownLog struct {
	path string
	// absent is the error where there is no log, ended is true for what prints no more.
	absent error
	ended  func() bool
}

// oneLog is the log that the arguments name.
func oneLog(l *lab.Lab, args []string) (shownLog, error) {
	n, _, err := l.Node(args[0])
	if err != nil {
		return shownLog{}, err
	}
	if log := l.Place("").OutputLog(n); log != "" && len(n.Services) == 0 && len(args) == 1 {
		return shownLog{
			path: log, absent: fmt.Errorf("node %s was never started; 'nines apply' starts it", n.Name),
			ended: func() bool { now, err := openLab(l.Name()); return err != nil || !now.Alive(n.Name) },
		}, nil
	}
	name, err := oneService(l, n, args)
	return shownLog{
		path: service.Log(l.State(), n.Name, name), absent: fmt.Errorf("service %s of node %s was never started; 'nines apply' starts it", name, n.Name),
		ended: func() bool { return ended(l, n.Name, name) },
	}, err
}

// oneService is the service that the arguments name, or the node's only one.
func oneService(l *lab.Lab, n plan.Node, args []string) (string, error) {
	switch {
	case len(n.Services) == 0:
		return "", exit.Wrongf("node %q of lab %q has no services; its file may list some under services", n.Name, l.Name())
	case len(args) == 2:
		return args[1], lab.CheckService(n, args[1])
	case len(n.Services) > 1:
		return "", exit.Wrongf("node %q has several services: add the name of one; %s", n.Name, lab.ServicesOf(n))
	}
	return n.Services[0].Name, nil
}

// followEvery is the pause between two looks for more.
const followEvery = 200 * time.Millisecond

func (s shownLog) show(ctx context.Context, out io.Writer, follow bool) error {
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.absent
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	if lost := node.LostOf(s.path); lost > 0 {
		terminal.Printf(out, "… %d bytes before this are left out\n", lost)
	}
	if older, err := os.Open(node.OlderLog(s.path)); err == nil {
		if err := errors.Join(copyPlain(out, older), older.Close()); err != nil {
			return err
		}
	}
	for {
		over := follow && s.ended()
		if err := copyPlain(out, file); err != nil || over || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
		if file, err = following(out, file, s.path); err != nil {
			return err
		}
	}
}

// following is the log to continue with: another where this one was put aside, as it is full or the service starts again.
func following(out io.Writer, file *os.File, path string) (*os.File, error) {
	now, err := os.Open(path)
	if err != nil {
		return file, nil // it is put aside just now, or the lab is going down
	}
	a, errNow := now.Stat()
	b, errFile := file.Stat()
	if errNow != nil || errFile != nil || os.SameFile(a, b) {
		return file, errors.Join(errNow, errFile, now.Close())
	}
	return now, errors.Join(copyPlain(out, file), file.Close())
}

// copyPlain copies what is left of a log, as text that cannot control a terminal.
func copyPlain(out io.Writer, file io.Reader) error {
	from := bufio.NewReaderSize(file, 64<<10)
	for {
		text, err := from.ReadSlice('\n')
		if len(text) > 0 {
			if _, err := io.WriteString(out, terminal.PlainLines(string(text))); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// ended is true for a service that writes no more.
func ended(l *lab.Lab, node, name string) bool {
	all, err := service.All(l.Lab)
	if err != nil {
		return true // the lab is gone
	}
	return !slices.ContainsFunc(all, func(s service.State) bool { return s.Node == node && s.Name == name && s.Alive })
}
