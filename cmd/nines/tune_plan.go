package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/host/tune"
)

func newTunePlanCommand() *cobra.Command {
	var call tuneCall
	var format string
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what tuning would change, why, and what it costs",
		Long: `Show what tuning would change: each setting with what it holds now, what is wanted,
what it does, what it costs and where the advice comes from; what is in force
already; and what this host does not have, with the reason. Then the exact kernel
command line for these CPUs, with the reason for each parameter, what it conflicts
with, and what the running kernel cannot do. Nothing is changed.

With --host it is for another machine, of which 'nines host' wrote the inventory.`,
		Example: `  nines tune plan --cpus 2-3
  nines tune plan --for lab.yaml --profile realtime
  nines tune plan --cpus 8-10 --cgroup v1 --boot idle=poll
  nines tune plan --cpus 2-3 --file mine.yaml
  nines tune plan --cpus 2-3 --format json | jq -r .boot_line`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			inv, request, err := call.request()
			if err != nil {
				return err
			}
			current := tune.Live
			if call.host != "" {
				current = tune.Recorded(inv)
			}
			p := tune.MakePlan(inv, request, current)
			if format == "json" {
				return writeJSON(c.OutOrStdout(), p)
			}
			return p.Write(c.OutOrStdout())
		},
	}
	call.flags(c)
	c.Flags().StringVar(&call.host, "host", "", "an inventory, from 'nines host --format json' (default: this machine)")
	c.Flags().StringVar(&format, "format", "table", "table or json")
	return c
}
