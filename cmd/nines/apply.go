package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/plan"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// applyCall holds the options of nines apply.
type applyCall struct {
	labFile
	dryRun bool
	format string
}

func newApplyCommand() *cobra.Command {
	var call applyCall
	c := &cobra.Command{
		Use:        "apply FILE",
		Short:      "Change a running lab to match its file",
		SuggestFor: []string{"redeploy", "update", "edit"},
		Long: `Change a running lab to match its file: make what is new, remove what is gone, and keep
the rest running, with its processes, names, addresses and CPUs. First apply prints the
changes, and each value of what stays that becomes another: its old and its new one.

A node starts afresh, in its network and with its links, if something changes that is fixed
when it starts, such as its runtime, image, command, CPUs, memory, mounts or privileges. It is
rebuilt with its links only if its network changes; docs/labs.md lists what. A node that has
died is restarted in its network, and a stopped node stays stopped. If the name of an image
now refers to another image, the output says so, and 'nines restart --fresh' uses it.
A change of isolation or of the host's scripts rebuilds the lab. A bridge or macvlan can
gain and lose endpoints while the others stay connected. The order in the file means
nothing to a running lab, and a link without a name is known by its endpoints.`,
		Example: `  nines apply lab.yaml
  nines apply lab.yaml --dry-run
  nines apply lab.yaml --set links.*.kind=xdp`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			call.path = args[0]
			return call.apply(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	call.flags(c)
	c.Flags().BoolVar(&call.dryRun, "dry-run", false, "show what would change, and change nothing")
	command.FormatFlag(c, &call.format)
	return c
}

func (a applyCall) apply(ctx context.Context, out, progress io.Writer) error {
	var l *lab.Lab
	a.running = func(name string) (_ *plan.Plan, err error) {
		if l, err = lab.Open(name); err != nil {
			return nil, err
		}
		return l.Plan(), nil
	}
	p, err := a.plan()
	if err != nil {
		return err
	}
	announce := func(c change.Changes) error { return command.PrintAs(out, a.format, c, writeChanges) }
	if a.dryRun {
		changes, err := l.Changes(p.Plan, p.scripts)
		if err != nil {
			return err
		}
		return announce(changes)
	}
	if err := host.Missing(p.findings); err != nil {
		return err
	}
	_, err = l.Apply(ctx, lab.ApplyOptions{Plan: p.Plan, Experiment: p.text, Scripts: p.scripts, Progress: progressTo(progress), Announce: announce})
	return err
}

func writeChanges(out io.Writer, c change.Changes) error {
	if c.Empty() && len(c.Outdated)+len(c.Unreached)+len(c.Differences) == 0 {
		_, err := terminal.Printf(out, "nothing to change\n")
		return err
	}
	if c.Whole != "" {
		if _, err := terminal.Printf(out, "the whole lab is rebuilt: %s\n", c.Whole); err != nil {
			return err
		}
	}
	for _, row := range []struct {
		what  string
		names []string
	}{
		{"removed nodes", c.RemovedNodes}, {"replaced nodes", c.ReplacedNodes}, {"added nodes", c.AddedNodes},
		{"nodes started afresh in their networks", c.FreshNodes}, {"restarted nodes", c.RestartedNodes},
		{"removed links", c.RemovedLinks}, {"replaced links", c.ReplacedLinks}, {"added links", c.AddedLinks},
		{"removed endpoints", c.RemovedEndpoints}, {"added endpoints", c.AddedEndpoints},
		{"reconfigured interfaces", c.Reconfigured}, {"restarted engines", c.RestartedApps}, {"restarted services", c.RestartedServices},
		{"nodes with new routes, sysctls or environment", c.Adjusted},
		{"nodes that move to other CPUs", c.Moved},
		{"reset receive modes", c.Received},
		{"nodes with a new restart policy or health check", c.Watched},
		{"restarted SSH servers", c.Logins},
		{"nodes whose image has changed (nines restart --fresh uses it)", c.Outdated},
	} {
		if len(row.names) == 0 {
			continue
		}
		if _, err := terminal.Printf(out, "%s: %s\n", row.what, strings.Join(row.names, ", ")); err != nil {
			return err
		}
	}
	if c.Tuning {
		if _, err := terminal.Printf(out, "host settings change\n"); err != nil {
			return err
		}
	}
	if c.Power {
		if _, err := terminal.Printf(out, "power control is restarted or ended\n"); err != nil {
			return err
		}
	}
	if c.Keys {
		if _, err := terminal.Printf(out, "login keys change\n"); err != nil {
			return err
		}
	}
	if c.Disturbances {
		if _, err := terminal.Printf(out, "disturbances are restarted\n"); err != nil {
			return err
		}
	}
	if c.Hugepages {
		if _, err := terminal.Printf(out, "hugepage reservations change\n"); err != nil {
			return err
		}
	}
	for _, one := range c.Unreached {
		if _, err := terminal.Printf(out, "not reached: %s\n", one); err != nil {
			return err
		}
	}
	for _, one := range c.Differences {
		if _, err := terminal.Printf(out, "  %s\n", one); err != nil {
			return err
		}
	}
	return nil
}
