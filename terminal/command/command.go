// Package command runs a command line as every program of nines does.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// Run runs one command line and returns its exit code. A first Ctrl-C, SIGTERM or SIGHUP (the
// terminal is gone) cancels the context, so that a verb can clean up; a second one ends the process
// at once.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return exit.Wrongf("%w; see '%s --help'", err, c.CommandPath())
	})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") { // cobra has no type for it
		err = exit.Wrongf("%w; see '%s --help'", err, root.Use)
	}
	if err == nil {
		return exit.Done
	}
	fmt.Fprintf(stderr, "nines: %s\n", terminal.PlainLines(err.Error())) // it may quote someone else's file
	return exit.Code(err)
}
