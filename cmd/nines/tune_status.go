package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/lab"
)

func newTuneStatusCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what tuning is in force, and what others have changed since",
		Long: `Show which settings nines tune has changed, what each holds now, and whether others
have changed it since; and the boot parameters that were written, which of them the
running kernel has and which wait for a reboot. Nothing is changed.`,
		Example: `  nines tune status
  nines tune status --format json | jq '.settings[] | select(.standing != "in force")'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			status, err := readTuneStatus()
			if err != nil {
				return err
			}
			if format == "json" {
				return writeJSON(c.OutOrStdout(), status)
			}
			return status.Write(c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&format, "format", "table", "table or json")
	return c
}

func readTuneStatus() (tune.Status, error) {
	status, err := tune.Session{Root: lab.Root()}.Status()
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
