package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/power"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// powerStatus is the word that asks for the state and changes nothing.
const powerStatus = "status"

func newPowerCommand() *cobra.Command {
	call := powerCall{}
	c := &cobra.Command{
		Use:   "power NODE... on|off|soft|reset|cycle|diag|status",
		Short: "Switch nodes on and off",
		Long: `Switch nodes as a server's management controller does, without the network:

  on      start nodes that are off
  off     kill their processes at once, as a power cut would
  soft    let them shut down for at most 10 seconds, then as off
  reset   kill and restart them, also those that are off
  cycle   the same, as nothing in a node stays powered during a reset
  diag    send an NMI to the kernel of virtual machines; containers are refused
  status  show which are on; without a node: all

Interfaces, MAC addresses and links of the nodes stay. While the lab is measured, this makes
the trial invalid, with the reason; it requires --during-measurement, or the section power in
the lab's file. That section also lets IPMI and Redfish clients do the same: docs/power.md.

The name of the lab may also be before those of the nodes.`,
		Example: `  nines power dut reset
  nines power --lab quickstart dut loadgen off
  nines power status --format json | jq -r '.[] | select(.on) | .node'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || !slices.Contains(powerWords(), args[len(args)-1]) {
				return exit.Wrongf("end with one of %s, as in: nines power dut reset", strings.Join(powerWords(), ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args[:len(args)-1], args[len(args)-1])
		},
	}
	labFlag(c, &call.lab)
	duringFlag(c, &call.during)
	command.FormatFlag(c, &call.format)
	return c
}

// powerWords are the words that the command ends with.
func powerWords() []string {
	var words []string
	for _, action := range power.Actions() {
		if action != power.Restart { // that is nines restart
			words = append(words, string(action))
		}
	}
	return append(words, powerStatus)
}

type powerCall struct {
	lab    string
	during bool
	format string
}

// powered is what was done to a node, and how it is now.
type powered struct {
	power.State
	// IPMI and Redfish are where clients of the network reach it; empty where they do not.
	IPMI    string `json:"ipmi,omitempty"`
	Redfish string `json:"redfish,omitempty"`
	// Problem is why the action failed; empty if it did not.
	Problem string `json:"problem,omitempty"`
}

func (p *powerCall) run(ctx context.Context, out, progress io.Writer, names []string, word string) error {
	running, nodes, err := p.targets(names, word == powerStatus)
	if err != nil {
		return err
	}
	problems := map[string]string{}
	var failures []error
	begun := time.Now()
	if word != powerStatus {
		for _, node := range nodes {
			err := lab.Power(ctx, running.Name(), node, power.Action(word), lab.PowerOptions{
				By: "nines power", DuringMeasurement: p.during, Progress: progressTo(progress),
			})
			if err != nil {
				problems[node] = err.Error()
				failures = append(failures, err)
			}
		}
	}
	// As it is afterwards.
	if running, err = lab.Open(running.Name()); err != nil {
		return errors.Join(append(failures, err)...)
	}
	var list []powered
	for _, node := range nodes {
		state, err := running.PowerState(node)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		list = append(list, reached(running, powered{State: state, Problem: problems[node]}))
	}
	if p.format == "json" || word == powerStatus {
		err = command.PrintAs(out, p.format, list, writePowered)
	} else if len(failures) == 0 {
		_, err = terminal.Printf(out, "power %s of %s, in %s\n", word, strings.Join(nodes, ", "), time.Since(begun).Round(time.Millisecond))
	}
	return errors.Join(append(failures, err)...)
}

// targets finds the lab and the nodes. Without --lab the first name is a lab's if there are several names, and
// the first is no node of the only lab.
func (p *powerCall) targets(names []string, all bool) (*lab.Lab, []string, error) {
	var running *lab.Lab
	if len(names) > 0 && p.lab == "" {
		only, err := openLab("")
		switch {
		case err == nil && slices.Contains(nodeNames(only), names[0]):
			running = only
		default:
			named, err := openLab(names[0])
			if only != nil && errors.As(err, new(*state.NotFoundError)) {
				return nil, nil, exit.Wrongf("lab %q does not exist, and lab %q has no node %q; %s", names[0], only.Name(), names[0], terminal.Choose(names[0], "its nodes:", nodeNames(only)))
			}
			if err != nil {
				return nil, nil, err
			}
			running, names = named, names[1:]
		}
	} else {
		named, err := labByFlag(p.lab)
		if err != nil {
			return nil, nil, err
		}
		running = named
	}
	for _, name := range names {
		if !slices.Contains(nodeNames(running), name) {
			return nil, nil, exit.Wrongf("lab %q has no node %q; %s", running.Name(), name, terminal.Choose(name, "its nodes:", nodeNames(running)))
		}
	}
	if len(names) > 0 {
		return running, names, nil
	}
	if !all {
		return nil, nil, exit.Wrongf("name a node or several of lab %q: %s", running.Name(), strings.Join(nodeNames(running), ", "))
	}
	return running, nodeNames(running), nil
}

// nodeNames are the nodes that can be switched.
func nodeNames(l *lab.Lab) []string {
	var names []string
	for _, n := range l.Plan().Nodes {
		if n.Runtime.Descriptor().Restarts() {
			names = append(names, n.Name)
		}
	}
	return names
}

func reached(l *lab.Lab, p powered) powered {
	served := l.Plan().Power
	if served == nil {
		return p
	}
	for _, n := range served.Nodes {
		if n.Name == p.Node {
			p.IPMI, p.Redfish = served.IPMI(n), served.SystemURL(n)
		}
	}
	return p
}

func writePowered(out io.Writer, list []powered) error {
	t := &terminal.Table{}
	t.Row("NODE", "POWER", "IPMI", "REDFISH")
	for _, p := range list {
		state := "off"
		if p.On {
			state = "on"
		}
		if p.Changing {
			state += ", changing"
		}
		t.Row(p.Node, state, cmp.Or(p.IPMI, "-"), cmp.Or(p.Redfish, "-"))
	}
	return t.Write(out, terminal.Style{})
}
