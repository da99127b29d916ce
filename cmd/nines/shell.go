package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/running"
)

// shellScript starts the best shell in the node's file system.
const shellScript = `cd; if command -v bash >/dev/null; then exec bash --norc -i; else exec sh -i; fi`

func newShellCommand() *cobra.Command {
	var named string
	c := &cobra.Command{
		Use:        "shell NODE",
		Short:      "Open a shell in a node",
		SuggestFor: []string{"connect", "attach", "console", "enter", "bash", "sh", "login"},
		Long: `Open a shell in a node: bash if the node has it, otherwise sh. The prompt names the
node. The node keeps running when you leave the shell.`,
		Example: `  nines shell dut
  nines shell --lab quickstart loadgen`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Wrongf("name one node, as in: nines shell dut")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			options := running.ExecOptions{Env: []string{"PS1=" + args[0] + `:\w# `}}
			return become(c, named, args[0], []string{"sh", "-c", shellScript}, options)
		},
	}
	labFlag(c, &named)
	return c
}
