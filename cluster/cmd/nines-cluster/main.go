// Command nines-cluster makes local clusters, and is what a cluster runs of nines. `nines cluster`
// hands its calls over to it.
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

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit code. A first Ctrl-C, SIGTERM or SIGHUP
// cancels the context, so that a verb can clean up; a second one ends the process at once.
func execute(args []string, stdout, stderr io.Writer) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
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
		err = exit.Wrongf("%w; see 'nines cluster --help'", err)
	}
	if err == nil {
		return exit.Done
	}
	fmt.Fprintf(stderr, "nines: %s\n", terminal.PlainLines(err.Error()))
	return exit.Code(err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nines cluster",
		Short: "Place pods by latency that was measured; a Kubernetes cluster on this machine to try it",
		Long: `Make a Kubernetes cluster on this machine: a control plane and real kubelets with
containerd, each in namespaces and control groups of its own. It is for tests, tries and
teaching, and is undone like a lab: nothing of it stays, also after a crash.`,
		Example: `  nines cluster up --nodes 2
  nines cluster kubectl -- get nodes
  nines cluster status
  nines cluster down`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return exit.Wrongf("%w; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(newUpCommand(), newDownCommand(), newStatusCommand(), newKubeconfigCommand(), newKubectlCommand(), newAgentCommand(), newExplainCommand(),
		newPartCommand(), newRelayCommand())
	return root
}
