package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/terminal/command"
)

func newTuneStatusCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show which settings are in force and what else changed them",
		Long: `Show which settings nines tune has changed, their present value, and whether another
program has changed them since; and which written boot parameters the running kernel has
and which wait for a reboot. The command changes nothing.`,
		Example: `  nines tune status
  nines tune status --format json | jq '.settings[] | select(.standing != "in force")'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			status, err := readTuneStatus()
			if err != nil {
				return err
			}
			if format == "json" {
				return command.WriteJSON(c.OutOrStdout(), status)
			}
			return status.Write(c.OutOrStdout())
		},
	}
	command.FormatFlag(c, &format)
	return c
}

func readTuneStatus() (tune.Status, error) {
	status, err := tune.Session{Root: state.Root()}.Status()
	if err != nil {
		return status, err
	}
	inv, err := host.Read()
	if err != nil {
		return status, err
	}
	status.Boot, err = tune.BootTree{Root: "/"}.Status(inv.Kernel.CommandLine)
	return status, err
}
