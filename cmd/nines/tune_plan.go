package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/terminal/command"
)

func newTunePlanCommand() *cobra.Command {
	var call tuneCall
	var format string
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what tuning would change, why, and at what cost",
		Long: `Show what tuning would change. For each setting: its present and wanted value, its
effect, its cost and the source of the advice; then the settings that are already in
force, and those that this host does not have, with the reason. Last comes the complete
kernel command line for these CPUs, with the reason for each parameter, its conflicts,
and what the running kernel does not support. The command changes nothing.

--host plans for another machine, from an inventory that 'nines host' wrote there.`,
		Example: `  nines tune plan --cpus 2-3
  nines tune plan --for lab.yaml --profile realtime
  nines tune plan --cpus 8-10 --cgroup v1 --boot idle=poll
  nines tune plan --cpus 2-3 --file mine.yaml
  nines tune plan --cpus 2-3 --format json | jq -r .boot_line`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
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
				return command.WriteJSON(c.OutOrStdout(), p)
			}
			return p.Write(c.OutOrStdout())
		},
	}
	call.flags(c)
	c.Flags().StringVar(&call.host, "host", "", "an inventory, from 'nines host --format json' (default: this machine)")
	command.FormatFlag(c, &format)
	return c
}
