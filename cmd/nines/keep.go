package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/service"
)

// newKeepCommand is the process that nines up starts for each service. It is not for users: the journal of the lab has
// to have it.
func newKeepCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keep LAB NODE SERVICE",
		Short: "Run a service of a node, and keep its output",
		Long: `Run a service of a lab's node until it ends, keep its output, and note when it is ready and
how it ends. nines up starts it, and nines down ends it: call it yourself only to debug.`,
		Example: `  nines keep quickstart dut forwarder`,
		Hidden:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return exit.Wrongf("name a lab, a node and a service; nines up starts this for each service")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			// A lost terminal is no reason to end.
			signal.Ignore(syscall.SIGHUP)
			return service.Keep(c.Context(), args[0], args[1], args[2])
		},
	}
}
