package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/lab"
)

func newStopCommand() *cobra.Command {
	call := nodesCall{do: lab.DoStop, done: "stopped"}
	c := &cobra.Command{
		Use:        "stop NODE...",
		Short:      "Stop nodes; their networks stay",
		SuggestFor: []string{"halt", "pause"},
		Long: `End the processes of nodes, until 'nines start'. The network of a node belongs to the lab and
stays, with its interfaces, addresses and links; only the links of a virtual machine
lose their carrier. 'nines ls' and 'nines check' show the node as stopped, not as a fault,
and restart policies leave it stopped.
The first process of a container with systemd shuts its services down first, for at most
10 seconds; --kill does not wait for it.`,
		Example: `  nines stop dut
  nines start dut`,
		Args: someNodes,
		RunE: func(c *cobra.Command, args []string) error {
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	call.flags(c)
	call.killFlag(c)
	return c
}
