package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/terminal"
)

// version is what `nines --version` prints: the Makefile sets it to what hack/version.sh prints.
var version = "devel"

// newVersionCommand prints the same: most programs of this kind have it as a command.
func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show which version of nines this is",
		Long:    `Show which version of nines this is, as 'nines --version' does.`,
		Example: `  nines version`,
		Hidden:  true,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			terminal.Printf(c.OutOrStdout(), "%s version %s\n", c.Root().Name(), version)
			return nil
		},
	}
}
