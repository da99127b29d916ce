package main

import "github.com/spf13/cobra"

func newKbpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kbp",
		Short: "Poll the devices of containers that nines did not make",
		Long: `Kernel busy poll: threads receive what devices get, in place of the softirqs that
interrupts raise, while applications keep their sockets and know nothing of it.

start changes a running container, status shows what that does, stop puts it back. A
lab's nodes have the key rx in the experiment file instead. docs/busy-polling.md has the
mechanisms, what they cost, and what kernels they need.`,
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
