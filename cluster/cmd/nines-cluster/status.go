package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newStatusCommand() *cobra.Command {
	var name, format string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the cluster and its programs",
		Long: `Show the cluster's members (the control plane and the nodes), which programs run in each,
how often they were started, and where their logs are.`,
		Example: `  nines cluster status
  nines cluster status --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := session(name)
			if err != nil {
				return err
			}
			status, err := s.Status(c.Context())
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), format, status, func(out io.Writer, status *local.Status) error {
				return writeStatus(out, s, status)
			})
		},
	}
	nameFlag(c, &name)
	command.FormatFlag(c, &format)
	return c
}

// writeStatus writes the status for people.
func writeStatus(out io.Writer, s local.Session, status *local.Status) error {
	terminal.Printf(out, "cluster %s: %s, since %s\n", status.Name, status.Condition, status.Since.Local().Format(time.DateTime))
	if status.API == "" {
		terminal.Printf(out, "API server: %s\n\n", status.Server)
	} else {
		terminal.Printf(out, "the API server does not answer: %s\n\n", status.API)
	}
	var table terminal.Table
	for _, head := range []string{"member", "state", "pods", "program", "runs"} {
		table.Words(head)
	}
	table.Numbers("starts", "")
	table.Words("last end")
	for _, part := range status.Parts {
		name, state, pods := part.Name, stateOf(part), ""
		if part.Name != local.ControlName {
			pods = fmt.Sprint(part.Pods)
		}
		if part.Failed != "" {
			table.Row(name, state, pods, "", "", "", part.Failed)
		}
		for _, p := range part.Programs {
			if p.Done {
				continue
			}
			runs := "no"
			if p.PID > 0 && part.Alive {
				runs = "yes"
			}
			table.Row(name, state, pods, p.Name, runs, p.Starts, p.Ended)
			name, state, pods = "", "", ""
		}
	}
	if err := table.Write(out, terminal.StyleOf(out)); err != nil {
		return err
	}
	_, err := terminal.Printf(out, "\nlogs: %s\n", s.Logs())
	return err
}

func stateOf(part local.PartStatus) string {
	switch {
	case !part.Alive:
		return "dead"
	case part.Failed != "":
		return "failed"
	case part.Name == local.ControlName && part.Status.Ready(), part.Ready:
		return "ready"
	}
	return "not ready"
}
