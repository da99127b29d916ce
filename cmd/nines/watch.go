package main

import (
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/terminal"
)

// newWatchCommand is the process that nines up starts where nodes are watched. It is not for users:
// the journal of the lab has to have it.
func newWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch LAB",
		Short: "Check the health of a lab's nodes and apply their restart policies",
		Long: `Check the health of a lab's nodes and restart them by their restart policies, until the
lab goes down. nines up starts it if a node has restart or healthcheck, and nines down ends
it: call it yourself only to debug. It prints one line for each action.`,
		Example: `  nines watch quickstart`,
		Hidden:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Wrongf("name one lab; nines up starts this if a node has restart or healthcheck")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			// A lost terminal is no reason to end.
			signal.Ignore(syscall.SIGHUP)
			return lab.Watch(c.Context(), args[0], func(line string) {
				terminal.Println(c.OutOrStdout(), time.Now().Format(time.RFC3339), line)
			})
		},
	}
}
