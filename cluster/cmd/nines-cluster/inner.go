package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/proc"
)

// The verbs of this file are for nines itself, which starts them as processes of a cluster.

func newPartCommand() *cobra.Command {
	return &cobra.Command{
		Use: local.PartVerb + " FOLDER PROGRAMS IMAGES", Hidden: true, Args: cobra.ExactArgs(3),
		Short: "Make a member of a cluster in the namespaces that this is started in",
		RunE: func(c *cobra.Command, args []string) error {
			return inside.Start(c.Context(), args[0], args[1], args[2])
		},
	}
}

func newRelayCommand() *cobra.Command {
	return &cobra.Command{
		Use: local.RelayVerb + " PID START TOKEN", Hidden: true, Args: cobra.ExactArgs(3),
		Short: "Relay connections into the namespace of a process",
		RunE: func(c *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil {
				return exit.Wrongf("process %q: %w", args[0], err)
			}
			start, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return exit.Wrongf("start %q: %w", args[1], err)
			}
			return local.Relay(c.Context(), proc.Identity{PID: pid, StartTicks: start}, c.OutOrStdout())
		},
	}
}
