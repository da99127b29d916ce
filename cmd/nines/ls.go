package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/lab"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newListCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:        "ls",
		Short:      "List the labs of this host",
		SuggestFor: []string{"list", "ps", "labs", "status"},
		Long: `List the labs of this host with their state: up; changing (a process builds or removes
it now); measuring (a process measures in it); orphaned (the measuring process died);
incomplete (its start or end was cut off).
nines down removes every lab that no process holds, and the next nines run removes
orphaned labs. STOPPED counts the nodes that were stopped, HEALTHY those whose checks
succeed, and FAULTS what has died, does not serve, differs from the plan or cannot be
read: nines check lists it.`,
		Example: `  nines ls
  nines ls --format json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			labs, err := lab.List()
			if err != nil {
				return err
			}
			if format == "json" {
				return command.WriteJSON(c.OutOrStdout(), append([]lab.Status{}, labs...))
			}
			return writeLabs(c.OutOrStdout(), labs)
		},
	}
	command.FormatFlag(c, &format)
	return c
}

// healthy is how many of the nodes with health checks are healthy.
func healthy(l lab.Status) string {
	if l.Checked == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", l.Healthy, l.Checked)
}

func writeLabs(out io.Writer, labs []lab.Status) error {
	if len(labs) == 0 {
		_, err := terminal.Printf(out, "no lab is up\n")
		return err
	}
	t := &terminal.Table{}
	t.Row("LAB", "CONDITION", "NODES", "STOPPED", "HEALTHY", "FAULTS", "LINKS", "PREFIX", "SINCE")
	for _, l := range labs {
		condition := string(l.Condition)
		if l.PID != 0 {
			condition += fmt.Sprintf(" by %d", l.PID)
		}
		t.Row(l.Name, condition, l.Nodes, len(l.StoppedNodes), healthy(l), max(len(l.Faults), len(l.DeadNodes)),
			l.Links, l.Prefix, l.Started.Format("2006-01-02 15:04:05"))
	}
	if err := t.Write(out, terminal.Style{}); err != nil {
		return err
	}
	for _, l := range labs {
		for _, ended := range l.Ended {
			terminal.Printf(out, "%s: %s\n", l.Name, ended)
		}
	}
	return nil
}
