package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/lab"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newCheckCommand() *cobra.Command {
	var format, named string
	c := &cobra.Command{
		Use:        "check [NAME|FILE]",
		Short:      "Compare a lab with its plan",
		SuggestFor: []string{"diff", "drift"},
		Long: `Compare a lab with its plan, item by item: the fabric, nodes with their
routes, sysctls and filters of packets, engines, which are asked whether they serve,
interfaces with their state, addresses, neighbours, impairments, offloads, XDP programs
and receive mode, links with their bridges, programs, ports and ends outside the nodes,
disturbances, the lab's own CPUs, and the host's settings. It changes nothing. A stopped
node is not a fault.

The exit code is 0 if all is as planned, and 1 otherwise; nines apply repairs most faults.
nines run checks a lab in the same way after each trial.`,
		Example: `  nines check
  nines check quickstart
  nines check --format json | jq '.[] | select(.problem)'
  nines check || nines apply lab.yaml`,
		Args: atMostOneLab,
		RunE: func(c *cobra.Command, args []string) error {
			said, err := oneLab(args, named)
			if err != nil {
				return err
			}
			running, err := openLab(said)
			if err != nil {
				return err
			}
			parts, err := running.Check()
			if err != nil {
				return err
			}
			if err := command.PrintAs(c.OutOrStdout(), format, parts, writeChecked); err != nil {
				return err
			}
			return notAsPlanned(running.Name(), parts)
		},
	}
	labFlag(c, &named)
	command.FormatFlag(c, &format)
	return c
}

func writeChecked(out io.Writer, parts []lab.Checked) error {
	t := &terminal.Table{}
	t.Row("PART", "STATE")
	for _, part := range parts {
		state := part.Problem
		if state == "" {
			state = "as planned"
			if part.Stopped {
				state = "stopped"
			}
		}
		t.Row(part.Part, state)
	}
	return t.Write(out, terminal.Style{})
}

func notAsPlanned(name string, parts []lab.Checked) error {
	faults := 0
	for _, part := range parts {
		if part.Problem != "" {
			faults++
		}
	}
	if faults == 0 {
		return nil
	}
	verb := "are"
	if faults == 1 {
		verb = "is"
	}
	return fmt.Errorf("%d of %d items of lab %q %s not as planned; nines apply FILE repairs what it can, nines down %s removes the lab",
		faults, len(parts), name, verb, name)
}
