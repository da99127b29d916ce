package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/terminal"
)

// atOnce is in how many nodes exec --all runs its command at the same time.
const atOnce = 32

// execAll runs a command in every node of a lab, and prints what it says with the node's name before each line.
func execAll(c *cobra.Command, named string, argv []string, options running.ExecOptions) error {
	l, err := labByFlag(named)
	if err != nil {
		return err
	}
	nodes, width := l.Plan().Nodes, 0
	for _, n := range nodes {
		width = max(width, utf8.RuneCountInString(n.Name))
	}
	failures := make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(atOnce)
	var mu sync.Mutex
	for i, n := range nodes {
		prefix := n.Name + strings.Repeat(" ", width-utf8.RuneCountInString(n.Name)) + " | "
		out, errOut := &labelled{out: c.OutOrStdout(), mu: &mu, label: prefix}, &labelled{out: c.ErrOrStderr(), mu: &mu, label: prefix}
		group.Go(func() error {
			failures[i] = errors.Join(execIn(c.Context(), l, n.Name, argv, options, out, errOut), out.end(), errOut.end())
			return nil
		})
	}
	_ = group.Wait() // its functions return nil
	return inAll(l, failures)
}

// execIn runs a command in one node, without input.
func execIn(ctx context.Context, l *lab.Lab, node string, argv []string, options running.ExecOptions, out, errOut io.Writer) error {
	cmd, err := l.Command(ctx, node, argv, options)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, errOut
	return cmd.Run()
}

// inAll is the error of a command that ran in all nodes: it names those where it failed. The exit code is the
// command's in the first of them.
func inAll(l *lab.Lab, failures []error) error {
	code, failed := exit.Done, []string{}
	for i, err := range failures {
		if err == nil {
			continue
		}
		if unread := new(fs.PathError); errors.As(err, &unread) && errors.Is(unread, unix.EPIPE) {
			return unread // the commands ended by it as well
		}
		one := exit.Code(err)
		if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() > 0 {
			one = ended.ExitCode()
		}
		if code == exit.Done {
			code = one
		}
		failed = append(failed, fmt.Sprintf("%s (%v)", l.Plan().Nodes[i].Name, err))
	}
	if len(failed) == 0 {
		return nil
	}
	return exit.With(code, fmt.Errorf("the command failed in %d of %s: %s",
		len(failed), terminal.Count(len(failures), "node"), strings.Join(failed, ", ")))
}

// labelled writes whole lines with a label before each, so that those of several writers do not mix.
type labelled struct {
	out   io.Writer
	mu    *sync.Mutex
	label string
	rest  []byte // a line that has not ended
	err   error  // of the last write
}

// mostLine is how long a line may become before it is broken: a command may print without end.
const mostLine = 64 << 10

func (l *labelled) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) > mostLine {
			i = mostLine
		}
		if i < 0 {
			return len(p), nil
		}
		line := l.rest[:i]
		l.rest = bytes.TrimPrefix(l.rest[i:], []byte("\n"))
		if l.print(line); l.err != nil {
			return 0, l.err
		}
	}
}

// end writes the last line, if it has no end, and returns the error of writing.
func (l *labelled) end() error {
	if len(l.rest) > 0 && l.err == nil {
		l.print(l.rest)
	}
	return l.err
}

func (l *labelled) print(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := terminal.PlainLines(strings.TrimSuffix(string(line), "\r")) // which keeps tabs
	_, l.err = io.WriteString(l.out, l.label+text+"\n")
}
