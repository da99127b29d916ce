package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"nines.dev/nines/cluster/diagnosis"
	"nines.dev/nines/exit"
	"nines.dev/nines/terminal/command"
)

func newExplainCommand() *cobra.Command {
	var name, namespace, kubeconfig, format string
	c := &cobra.Command{
		Use:   "explain POD",
		Short: "Show why each node does or does not meet a pod's latency request, and which ports its claims got",
		Long: `Show for each node of the cluster which tier the pod could use, its measured latency, the age
of the measurement, and obstacles. For a pod that has a node, also show its placed latency.
For each claim of the pod, show which ports it got, or how many matching ports each node has,
who holds the others, and which figures are missing.
The cluster is that of KUBECONFIG or --kubeconfig, otherwise the one of 'nines cluster up'.`,
		Example: `  nines cluster explain cell-site
  nines cluster explain cell-site -n radio --format json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Wrongf("name one pod, as in: %s cell-site", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if kubeconfig == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
				s, err := session(name)
				if err != nil {
					return err
				}
				if _, err := s.Record(); err != nil {
					return err
				}
				kubeconfig = s.KubeconfigPath()
			}
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = kubeconfig
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
			if err != nil {
				return exit.Wrongf("read the kubeconfig: %w", err)
			}
			cluster, err := diagnosis.Read(c.Context(), config, namespace, args[0])
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), format, diagnosis.Of(cluster), func(out io.Writer, report diagnosis.Report) error {
				return report.Write(out)
			})
		},
	}
	nameFlag(c, &name)
	c.Flags().StringVarP(&namespace, "namespace", "n", "default", "the pod's namespace")
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the kubeconfig of the cluster")
	command.FormatFlag(c, &format)
	return c
}
