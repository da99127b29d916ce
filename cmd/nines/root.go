package main

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

// execute runs one command line and returns its exit code. A first Ctrl-C, SIGTERM or SIGHUP (the
// terminal is gone) cancels the context, so that a verb can clean up; a second one ends the process
// at once.
func execute(args []string, stdout, stderr io.Writer) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := newRootCommand()
	addCompletion(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") { // cobra has no type for it
		err = exit.Wrongf("%w; see 'nines --help'", err)
	}
	if err == nil {
		return exit.Done
	}
	fmt.Fprintf(stderr, "nines: %s\n", terminal.PlainLines(err.Error())) // it may quote somebody else's file
	return exit.Code(err)
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
		return exit.Wrongf("%w; see '%s --help'", err, c.CommandPath())
	})
	addVerbs(root)
	return root
}

// addCompletion adds cobra's completion command, and lets it refuse a shell that it does not know,
// as the other commands with subcommands do.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}
