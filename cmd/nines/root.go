package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes; docs/commands.md explains them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // the file or the call is wrong
	exitUnsupported = 3 // the host cannot do it
)

// exitCoder is an error that knows the exit code it stands for. Packages define
// it on their error types: spec's and plan's are exitUsage, a missing capability
// of the host is exitUnsupported.
type exitCoder interface{ ExitCode() int }

// usageError is a call that cannot be right, whatever the host.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }
func (e usageError) ExitCode() int { return exitUsage }

// execute runs one command line and returns its exit code. A first Ctrl-C, SIGTERM or
// SIGHUP (the terminal is gone) cancels the context, so that a verb can put things
// back; a second one ends the process at once.
func execute(args []string, stdout, stderr io.Writer) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") { // cobra has no type for it
		err = usageError{fmt.Errorf("%w; see 'nines --help'", err)}
	}
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "nines: %v\n", err)
	return exitCode(err)
}

func exitCode(err error) int {
	var coder exitCoder
	if !errors.As(err, &coder) {
		return exitFailed
	}
	// A program that nines ran and that failed has an exit code too, which says
	// nothing about nines.
	if _, child := coder.(*exec.ExitError); child {
		return exitFailed
	}
	return coder.ExitCode()
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nines",
		Short: "Build container networks, measure every packet, explain the slow ones",
		Long: `nines builds container networks on a Linux host, keeps the host's noise away from them,
measures the latency of every packet, and explains the slow ones.

One file describes an experiment: nodes, links, traffic, and what to vary. One command
runs it and leaves a folder with everything that was measured.`,
		Example: `  nines run examples/quickstart.yaml              # build, measure, take down
  nines run lab.yaml --set traffic.rate_pps=1000  # override any key of the file
  nines up lab.yaml && nines exec dut -- ip addr  # look around in a lab
  nines down                                      # restore the host`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())}
	})
	addVerbs(root)
	return root
}
