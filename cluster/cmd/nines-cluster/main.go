// Command nines-cluster makes local clusters, and is what a cluster runs of nines. `nines cluster`
// hands its calls over to it.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/terminal/command"
)

func main() {
	os.Exit(command.Run(newRootCommand(), os.Args[1:], os.Stdout, os.Stderr))
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		// Cobra shows the name that it is called by, which has two words, in place of this one.
		Use:         "nines",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "nines cluster"},
		Short:       "Place pods by measured latency; make a Kubernetes cluster on this machine to try it",
		Long: `Make a Kubernetes cluster on this machine: a control plane and real kubelets with
containerd, each in namespaces and control groups of its own. Use it to test, to try
things out and to teach. It is undone like a lab, also after a crash.`,
		Example: `  nines cluster up --nodes 2
  nines cluster kubectl -- get nodes
  nines cluster status
  nines cluster down`,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(newUpCommand(), newDownCommand(), newStatusCommand(), newKubeconfigCommand(), newKubectlCommand(), newAgentCommand(), newPortsCommand(), newDevicesCommand(), newImageCommand(), newExplainCommand(), newUninstallCommand(),
		newPartCommand(), newRelayCommand(), newPodCommand())
	return root
}
