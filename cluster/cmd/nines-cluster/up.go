package main

import (
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/terminal"
)

func newUpCommand() *cobra.Command {
	var name string
	var options local.Options
	c := &cobra.Command{
		Use:   "up",
		Short: "Make a Kubernetes cluster on this machine",
		Long: `Make a Kubernetes cluster on this machine, and return when its nodes are ready for pods.

Its nodes never pull an image: they have ` + local.BusyboxImage + ` and those that you load
with --image, so give pods imagePullPolicy: Never. It needs about 700 MiB of memory, and
175 MiB more for each node.

If a step fails, at Ctrl-C, or after --timeout, the command removes what it made. If it is
killed, 'nines cluster down' removes it, and so does the next 'nines cluster up'.`,
		Example: `  nines cluster up
  nines cluster up --nodes 3 --name teaching
  nines cluster up --image app.tar                # written by docker save
  nines cluster up --agent                        # and measure the nodes
  nines cluster up --ports ports.yaml             # and let pods claim their ports
  nines cluster up --multus                       # and let pods have several networks
  nines cluster up --timeout 5m                   # in a script`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := session(name)
			if err != nil {
				return err
			}
			start := time.Now()
			options.Progress = func(what string) { terminal.Printf(c.ErrOrStderr(), "cluster: %s\n", what) }
			record, err := s.Up(c.Context(), options)
			if err != nil {
				return err
			}
			_, err = terminal.Printf(c.OutOrStdout(), "cluster %s is up: %s, API server at %s, in %s\n",
				record.Name, terminal.Count(record.Nodes, "node"), record.Server, time.Since(start).Round(time.Millisecond))
			return err
		},
	}
	nameFlag(c, &name)
	c.Flags().IntVar(&options.Nodes, "nodes", 2, "how many nodes, besides the control plane")
	c.Flags().StringArrayVar(&options.Images, "image", nil, "give the nodes this image archive, written by docker save or nines cluster image (repeatable)")
	c.Flags().BoolVar(&options.Agent, "agent", false, "run the agent, which measures the node, on each node")
	c.Flags().StringVar(&options.Ports, "ports", "", "a ports file: the ports that pods can claim (docs/cluster-ports.md)")
	c.Flags().BoolVar(&options.Multus, "multus", false, "have Multus give pods the networks that their annotations name")
	c.Flags().DurationVar(&options.Timeout, "timeout", 0, "give up, and remove what was made, if the cluster is not ready after this time, such as 5m; 0 waits without limit")
	return c
}
