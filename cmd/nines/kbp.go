package main

import "github.com/spf13/cobra"

func newKbpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kbp",
		Short: "Poll the devices of containers that nines did not make",
		Long: `Kernel busy poll: threads receive what devices get, in place of the softirqs that
interrupts raise, while applications keep their sockets.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newKbpModuleCommand())
	return c
}
