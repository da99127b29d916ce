package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// planCall holds the options of nines plan.
type planCall struct {
	file   string
	sets   []string
	host   string // a file; empty is this machine
	run    int
	format string
	// running is the plan of the lab that is to change, by its name; nil: none is.
	running func(name string) (*plan.Plan, error)
}

// planOutput is the JSON output: plan.json's keys and the findings. These describe the host right
// now, so they are not part of a stored plan.
type planOutput struct {
	*plan.Plan
	Findings []host.Finding `json:"findings"`
}

func newPlanCommand() *cobra.Command {
	var call planCall
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show which node gets which CPUs, memory and addresses, and why",
		Long: `Show which node gets which CPUs, memory, names and addresses, and why. Nothing is built.
The same file and host always give the same plan.

A plan is for one run of the sweep: the first, or the one that --run names. --host plans
for another machine, from an inventory that 'nines host' wrote there. The end of the
output lists what that host lacks for the experiment. If that list contains an error,
'nines run' refuses to start, and the exit code is 3, or 0 if only root is missing. With
--format json the list is "findings", beside the keys of a result folder's plan.json.`,
		Example: `  nines plan lab.yaml
  nines plan lab.yaml --set nodes.dut.cpus=2
  nines plan lab.yaml --run 3
  nines plan lab.yaml --host server1.json
  nines plan lab.yaml --format json | jq .nodes
  nines plan lab.yaml --format json | jq '.findings[] | select(.severity == "error")'`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			call.file = args[0]
			p, findings, err := call.check()
			if err != nil {
				return err
			}
			if call.format == "json" {
				err = command.WriteJSON(c.OutOrStdout(), planOutput{p, findings})
			} else if err = p.Write(c.OutOrStdout()); err == nil {
				err = writeFindings(c.OutOrStdout(), findings)
			}
			if err != nil {
				return err
			}
			return refusing(findings)
		},
	}
	c.Flags().StringArrayVar(&call.sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.host, "host", "", "an inventory, from 'nines host --format json' (default: this machine)")
	c.Flags().IntVar(&call.run, "run", 1, "which run of the sweep, from 1")
	command.FormatFlag(c, &call.format)
	return c
}

// check makes the plan, and checks the host for what the experiment needs of its kernel.
func (p planCall) check() (*plan.Plan, []host.Finding, error) {
	f, err := loadFile(p.file, p.sets)
	if err != nil {
		return nil, nil, err
	}
	made, findings, err := p.planOf(f)
	if err != nil {
		return nil, nil, err
	}
	inv, err := p.inventory()
	if err != nil {
		return nil, nil, err
	}
	return made, append(findings, made.Lacking(inv)...), nil
}

// planOf is check for a loaded file.
func (p planCall) planOf(f *spec.File) (*plan.Plan, []host.Finding, error) {
	runs, err := f.Runs()
	if err != nil {
		return nil, nil, err
	}
	if p.run < 1 || p.run > len(runs) {
		return nil, nil, exit.Wrongf("--run %d: %s has the runs 1 to %d", p.run, p.file, len(runs))
	}
	inv, err := p.inventory()
	if err != nil {
		return nil, nil, err
	}
	run := runs[p.run-1]
	if p.host == "" {
		if inv, err = withUplinks(lab.WithOwnCPUs(inv, run.Experiment.Name), []spec.Run{run}); err != nil {
			return nil, nil, err
		}
	}
	exp := plan.WaitTogether(runs, inv)[p.run-1].Experiment
	var running *plan.Plan
	if p.running != nil {
		if running, err = p.running(exp.Name); err != nil {
			return nil, nil, err
		}
	}
	made, err := plan.Change(running, exp, inv)
	if err != nil {
		return nil, nil, run.Located(err)
	}
	findings := host.Check(inv, plan.Needs(exp))
	return made, append(findings, doctor.Brief(inv, doctor.Planned{Experiment: exp, Plan: made})...), nil
}

// refusing is an error if 'nines run' would refuse to start on the host for root: planning needs no rights.
func refusing(findings []host.Finding) error {
	errors := 0
	for _, f := range findings {
		if f.Severity == host.SeverityError && f.Capability != host.CapabilityRoot {
			errors++
		}
	}
	if errors == 0 {
		return nil
	}
	return exit.Lacksf("'nines run' would refuse to start on this host: %s above", terminal.Count(errors, "error"))
}

// writeFindings lists what the host lacks, and what will affect the results.
func writeFindings(out io.Writer, findings []host.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	if _, err := terminal.Printf(out, "\nhost:\n"); err != nil {
		return err
	}
	for _, f := range findings {
		if _, err := terminal.Printf(out, "  - %s\n", f); err != nil {
			return err
		}
	}
	return nil
}

func (p planCall) inventory() (*host.Inventory, error) {
	if p.host == "" {
		return host.Read()
	}
	data, err := os.ReadFile(p.host)
	if err != nil {
		return nil, exit.Wrongf("--host: %w", err)
	}
	inv, err := host.Load(data)
	if err != nil {
		return nil, exit.Wrongf("--host %s: %w", p.host, err)
	}
	return inv, nil
}

// withUplinks adds to this host's inventory the interfaces that runs put their management networks on.
func withUplinks(inv *host.Inventory, runs []spec.Run) (*host.Inventory, error) {
	var experiments []*spec.Experiment
	for _, run := range runs {
		experiments = append(experiments, run.Experiment)
	}
	return link.WithUplinks(inv, experiments...)
}
