package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/terminal/command"
)

func newHostCommand() *cobra.Command {
	var format, record string
	var probe bool
	c := &cobra.Command{
		Use:   "host",
		Short: "Show what this machine has: CPUs, memory, network cards, kernel features",
		Long: `Show what this machine has, as the planner sees it: CPUs with their cores, caches and
NUMA nodes, memory and hugepages, network cards, control groups, the kernel and its
features. The command changes nothing and needs no privileges.

Some features can only be found out by trying. --probe tries them in a temporary network
namespace of its own; that needs root.`,
		Example: `  nines host
  nines host --probe
  nines host --format json > server1.json   # plan for this machine elsewhere:
  nines plan lab.yaml --host server1.json
  nines host --record server1.json          # the files read, for a bug report`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if record != "" {
				return recordHost(record)
			}
			inv, err := host.Read()
			if err != nil {
				return err
			}
			if probe {
				probed, err := host.Probe(c.Context())
				if err != nil {
					return err
				}
				inv.SetFeatures(probed)
			}
			if format == "json" {
				return command.WriteJSON(c.OutOrStdout(), inv)
			}
			return inv.Write(c.OutOrStdout())
		},
	}
	command.FormatFlag(c, &format)
	c.Flags().BoolVar(&probe, "probe", false, "also test features that can only be found by trying (needs root)")
	c.Flags().StringVar(&record, "record", "", "write the raw data to this file, without host names and addresses")
	return c
}

// recordHost writes a recording completely or not at all.
func recordHost(path string) error {
	recording, err := host.Record()
	if err != nil {
		return err
	}
	return writeWhole(path, recording.Write)
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Wrongf("%s takes no argument, and got %q; see '%s --help'", c.Name(), args[0], c.CommandPath())
	}
	return nil
}
