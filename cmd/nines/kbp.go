package main

import "github.com/spf13/cobra"

func newKbpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kbp",
		Short: "Poll the network devices of any running container",
		Long: `Kernel busy poll: threads receive packets from devices instead of the softirqs that
interrupts raise. Applications keep their sockets and need no change.

start changes how a running container receives, status shows the effect, stop restores
the old state. Nodes of a lab use the key rx in the experiment file instead.
docs/busy-polling.md describes the mechanisms, their cost, and the kernels they need.`,
		Example: `  nines kbp status --features                  # what this kernel has
  nines kbp start --container web --cpu 3
  nines kbp start --pid 4711 --rx awake --cpu 1
  nines kbp status
  nines kbp stop web`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newKbpStartCommand(), newKbpStatusCommand(), newKbpStopCommand(), newKbpModuleCommand())
	return c
}
