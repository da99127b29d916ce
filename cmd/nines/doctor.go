package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host/doctor"
	"nines.dev/nines/terminal/command"
)

// doctorCall holds the options of nines doctor.
type doctorCall struct {
	file   string // an experiment; empty is none
	sets   []string
	host   string // a file; empty is this machine
	format string
}

func newDoctorCommand() *cobra.Command {
	var call doctorCall
	c := &cobra.Command{
		Use:        "doctor",
		Short:      "Find what prevents low latency on this machine, and how to fix it",
		SuggestFor: []string{"diagnose"},
		Long: `Report what prevents low latency on this machine. Each finding says what was seen and
where, how it delays packets, what it may cost at the tail, where that figure
comes from, and which commands help. The worst finding comes first. doctor changes
nothing and needs no privileges; as root it sees a little more.

Without --for, doctor judges the machine for the CPUs that were isolated at boot, or
for all but the first core. With --for FILE it judges one experiment: the worst case
over all its runs, for the CPUs and network cards they get and for what they require
(programs, hugepages, virtual functions, …). Problems that the file's own tuning and
isolation solve are listed, but are not findings.

An error prevents the experiment from running as written. A warning may cost 10 µs or
more, affects every packet, or makes figures wrong. A note costs less, or only at times
that it names. Exit codes: 0 for notes at most (the machine is fit), 1 for warnings, which with --for
are 0, as the experiment runs; 3 for errors, 2 if the file or the call is wrong.`,
		Example: `  nines doctor
  nines doctor --for lab.yaml
  nines doctor --for lab.yaml --set isolation=isolated --set tuning=latency
  nines host --record server1.json && nines doctor --host server1.json
  nines doctor --format json | jq -r '.findings[] | [.severity, .id, .cost.to_us] | @tsv'
  nines doctor --format json | jq -r '.findings[].remedies[0].commands[]?'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			report, err := call.report()
			if err != nil {
				return err
			}
			if call.format == "json" {
				err = command.WriteJSON(c.OutOrStdout(), report)
			} else {
				err = report.Write(c.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return report.Unfit()
		},
	}
	c.Flags().StringVar(&call.file, "for", "", "judge the machine for this experiment file")
	c.Flags().StringArrayVar(&call.sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.host, "host", "", "a recording or an inventory, from 'nines host' (default: this machine)")
	command.FormatFlag(c, &call.format)
	return c
}

func (d doctorCall) report() (*doctor.Report, error) {
	inv, err := planCall{host: d.host}.inventory()
	if err != nil {
		return nil, err
	}
	if d.file == "" {
		if len(d.sets) > 0 {
			return nil, exit.Wrongf("--set changes a key of an experiment file: name one with --for FILE")
		}
		return doctor.Judge(inv), nil
	}
	file, err := loadFile(d.file, d.sets)
	if err != nil {
		return nil, err
	}
	runs, err := file.Runs()
	if err != nil {
		return nil, err
	}
	if d.host == "" {
		if inv, err = withUplinks(inv, runs); err != nil {
			return nil, err
		}
	}
	return doctor.JudgeFile(inv, runs)
}
