package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

func newStatusCommand() *cobra.Command {
	var name, format string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the cluster and its programs",
		Long: `Show the cluster's parts (the control plane and the nodes), which programs run in each, how
often they were started, and where their logs are.`,
		Example: `  nines cluster status
  nines cluster status --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := session(name)
			if err != nil {
				return err
			}
			if format != "table" && format != "json" {
				return exit.Wrongf("--format %q is not known: table or json", format)
			}
			status, err := s.Status(c.Context())
			if err != nil {
				return err
			}
			if format == "json" {
				encoder := json.NewEncoder(terminal.JSON(c.OutOrStdout()))
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			}
			return writeStatus(c.OutOrStdout(), s, status)
		},
	}
	nameFlag(c, &name)
	c.Flags().StringVar(&format, "format", "table", "table or json")
	return c
}

// writeStatus writes the status for people.
func writeStatus(out io.Writer, s local.Session, status *local.Status) error {
	fmt.Fprintf(out, "cluster %s: %s, since %s\n", status.Name, status.Condition, status.Since.Local().Format(time.DateTime))
	if status.API == "" {
		fmt.Fprintf(out, "API server: %s\n\n", status.Server)
	} else {
		fmt.Fprintf(out, "the API server does not answer: %s\n\n", terminal.Plain(status.API))
	}
	var table terminal.Table
	for _, head := range []string{"part", "state", "pods", "program", "runs"} {
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
	_, err := fmt.Fprintf(out, "\nlogs: %s\n", s.Logs())
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
