package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/exit"
	"nines.dev/nines/report/explain"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// explainCall holds the options of nines explain.
type explainCall struct {
	dir, trial, packet, format string
	worst                      int
}

func newExplainCommand() *cobra.Command {
	var call explainCall
	c := &cobra.Command{
		Use:   "explain [DIR | latest]",
		Short: "Explain why the slowest packets of a traced trial were late",
		Long: `Explain why the slowest packets of a trial were late: what ran on the CPUs along their
path while they waited. Causes are ranked by the number of slow packets they account
for, each with one sentence and a remedy. The trial must have been traced: set
'trace: true' in the experiment file, or 'nines run --set trace=true'.

A packet's latency has three parts. The send wait lasts from the intended send time to
the send, the transit until the packet arrives, and the receive wait until the receiver
has it. nines gives the causes of each part in microseconds and counts no instant twice:
time of an interrupt within a softirq within a thread belongs to the interrupt.
"Ordinary" is time that the median packet has as well. "Unexplained" is time with no
recorded event: in a virtual machine, most likely the hypervisor's.

nines also records packets picked at random. A cause that is as likely around them, for
example a timer tick that hits everything, is not a cause of lateness, and the output
says so ("lift" in JSON).

The output ends with what the recorder lost, the CPU time it used and, if the result
has the same trials without tracing ('sweep: {trace: [false, true]}'), how tracing
changed their latency and rate.

Default: the newest result, and its traced trial with the slowest packet. nines
computes the output from the folder each time, so a result from another machine shows
the same. docs/explain.md lists all causes.`,
		Example: `  nines explain                                      # the newest result
  nines explain results/latest --trial 0003 --worst 20
  nines explain latest --packet 48213                # one packet, by its id in outliers.csv
  nines explain --format json | jq -r '.causes.ranking[] | [.packets, .cause.kind, .remedy] | @tsv'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Wrongf("'%s' takes one result folder, such as results/latest; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			call.dir = "latest"
			if len(args) == 1 {
				call.dir = args[0]
			}
			return call.run(c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&call.trial, "trial", "", "the trial, such as 0003 (default: the traced one with the slowest packet)")
	c.Flags().IntVar(&call.worst, "worst", 5, "show this many of the slowest packets")
	c.Flags().StringVar(&call.packet, "packet", "", "show the packet with this id instead of the slowest")
	command.FormatFlag(c, &call.format)
	return c
}

func (k explainCall) run(out, errOut io.Writer) error {
	if k.worst < 0 {
		return exit.Wrongf("--worst %d: write how many packets to show, 0 for none", k.worst)
	}
	if _, err := os.Stat(k.dir); k.dir == "latest" && errors.Is(err, fs.ErrNotExist) {
		k.dir = filepath.Join("results", "latest")
	}
	r, err := openResult(k.dir)
	if err != nil {
		return err
	}
	complainOf(errOut, r, r.Problems)
	id, others, err := k.choose(r)
	if err != nil {
		return err
	}
	stop := sayIfSlow(errOut, "reading the events …")
	shown, err := explained(r, id)
	stop()
	if err != nil {
		return err
	}
	shown.Others = others
	if shown.Causes.Packets, err = k.packets(shown.Causes.Packets, id); err != nil {
		return err
	}
	return command.PrintAs(out, k.format, shown, explain.WriteTable)
}

// choose finds the trial to explain, and the other traced trials.
func (k explainCall) choose(r *result.Result) (id string, others []string, err error) {
	var traced []result.Trial
	var all []string
	for _, trial := range r.Summary.Trials {
		all = append(all, trial.ID)
		details, err := r.TrialFolder(trial.ID).Details()
		if err != nil {
			return "", nil, err
		}
		if details.Trace != nil {
			traced = append(traced, trial)
		}
	}
	if k.trial != "" && !slices.Contains(all, k.trial) {
		return "", nil, exit.Wrongf("--trial %s: %s has no such trial; it has %s", k.trial, r.Dir, terminal.Plain(strings.Join(all, ", ")))
	}
	untraced := func(what string) error {
		return fmt.Errorf("%s: %s was not traced, so there is no record of why its packets were late; add 'trace: true' to the experiment file, or --set trace=true, and run it again", r.Dir, what)
	}
	if len(traced) == 0 {
		return "", nil, untraced("the result")
	}
	slowest := traced[0]
	for _, trial := range traced {
		if highest(trial) > highest(slowest) {
			slowest = trial
		}
	}
	id = slowest.ID
	if k.trial != "" {
		if !slices.ContainsFunc(traced, func(t result.Trial) bool { return t.ID == k.trial }) {
			return "", nil, untraced("trial " + k.trial)
		}
		id = k.trial
	}
	for _, trial := range traced {
		if trial.ID != id {
			others = append(others, trial.ID)
		}
	}
	return id, others, nil
}

func highest(t result.Trial) int64 {
	if t.Latency.Max == nil {
		return -1
	}
	return *t.Latency.Max
}

// explained computes a trial's causes from the files in its folder.
func explained(r *result.Result, id string) (explain.Shown, error) {
	folder := r.TrialFolder(id)
	in := attribution.Input{}
	var err error
	if in.Details, err = folder.Details(); err != nil {
		return explain.Shown{}, err
	}
	if in.Slow, err = folder.Outliers(); err != nil {
		return explain.Shown{}, err
	}
	// A traced trial has both; it is an error if one is missing.
	if in.Events, err = folder.Events(); err != nil {
		return explain.Shown{}, err
	}
	if in.Ordinary, err = folder.Ordinary(); err != nil {
		return explain.Shown{}, err
	}
	trials := r.Summary.Trials
	recorder := explain.RecorderOf(in.Details, trials[slices.IndexFunc(trials, func(t result.Trial) bool { return t.ID == id })], r.Shown())
	causes := attribution.Attribute(in)
	explain.Fill(&causes, in.Details)
	return explain.Shown{
		Schema: explain.Schema, Name: r.Summary.Name, Trial: id, Slowest: causes.Slowest,
		LostEvents: in.Details.Trace.Lost, StealNs: in.Details.StealNs, Recorder: recorder, Others: []string{}, Causes: causes,
		Stages: in.Details.Trace.Stages, StagesEvery: in.Details.Trace.StagesEvery,
	}, nil
}

// packets returns the packets to show: the slowest first, or the requested one.
func (k explainCall) packets(all []result.PacketCauses, trial string) ([]result.PacketCauses, error) {
	if k.packet == "" {
		return attribution.Slowest(all, k.worst), nil
	}
	id, err := strconv.ParseUint(k.packet, 10, 32)
	if err != nil {
		return nil, exit.Wrongf("--packet %q: write a packet's id, a number; outliers.csv has them", k.packet)
	}
	for _, p := range all {
		if uint64(p.ID) == id {
			return []result.PacketCauses{p}, nil
		}
	}
	return nil, exit.Wrongf("--packet %d: it is not among the %d slowest of trial %s, whose ids outliers.csv has", id, len(all), trial)
}
