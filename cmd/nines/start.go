package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/lab"
)

func newStartCommand() *cobra.Command {
	call := nodesCall{do: lab.DoStart, done: "started"}
	c := &cobra.Command{
		Use:        "start NODE...",
		Short:      "Start nodes that are stopped or have died",
		SuggestFor: []string{"resume", "unpause"},
		Long: `Start nodes that are stopped or have died, in the networks that they had. A node that
runs is left as it is. The exec list of a node runs again.`,
		Example: `  nines start dut`,
		Args:    someNodes,
		RunE: func(c *cobra.Command, args []string) error {
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	call.flags(c)
	return c
}
