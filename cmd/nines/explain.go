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
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/report/explain"
	"nines.dev/nines/result"
)

// explainCall is one call of nines explain.
type explainCall struct {
	dir, trial, packet, format string
	worst                      int
}

func newExplainCommand() *cobra.Command {
	var call explainCall
	c := &cobra.Command{
		Use:   "explain [DIR | latest]",
		Short: "Say why the slowest packets of a traced trial were late",
		Long: `Say why the slowest packets of a trial were late: what ran on the CPUs on their way
while they waited, ranked by how many of them each cause accounts for, with a sentence
and a remedy each. It needs a trial that was traced: 'trace: true' in the experiment
file, or 'nines run --set trace=true'.

A packet's latency has three parts: the send wait, from when it was due until it was
sent; the transit, until it was there; and the receive wait, until its receiver had it.
Of each part the causes are given in microseconds. An instant is never counted twice:
an interrupt within a softirq within a thread is the interrupt's. "Ordinary" is what the
median packet has as well, and "unexplained" is time for which nothing was recorded: in
a virtual machine the hypervisor's doing, most likely.

Packets picked at random are recorded, too. A cause that is as likely around them, such
as a timer tick that hits everything, is no cause, and says so ("lift" in JSON).

Last comes what the recorder lost, the CPU time that it took, and, where the result has
the same trials without it ('sweep: {trace: [false, true]}'), what it changed of their
latency and rate.

Without --trial the traced trial with the slowest packet is explained; without DIR the
newest result. What is shown is computed from the folder each time, so a result from
another machine shows the same. docs/explain.md lists all causes.`,
		Example: `  nines explain                                      # the newest result
  nines explain results/latest --trial 0003 --worst 20
  nines explain latest --packet 48213                # one packet, by its id in outliers.csv
  nines explain --format json | jq -r '.causes.ranking[] | [.packets, .cause.kind, .remedy] | @tsv'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("'%s' takes one result folder, such as results/latest; see '%s --help'", c.CommandPath(), c.CommandPath())}
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
	c.Flags().IntVar(&call.worst, "worst", 5, "of how many of the slowest packets the parts are shown")
	c.Flags().StringVar(&call.packet, "packet", "", "show the parts of the packet with this id, instead of the slowest")
	c.Flags().StringVar(&call.format, "format", "table", "table or json")
	return c
}

func (k explainCall) run(out, errOut io.Writer) error {
	if err := checkFormat(k.format); err != nil {
		return err
	}
	if k.worst < 0 {
		return usageError{fmt.Errorf("--worst %d: write how many packets to show, 0 for none", k.worst)}
	}
	if _, err := os.Stat(k.dir); k.dir == "latest" && errors.Is(err, fs.ErrNotExist) {
		k.dir = filepath.Join("results", "latest")
	}
	r, err := openResult(k.dir)
	if err != nil {
		return err
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(errOut, "nines: %s: %s\n", r.Dir, problem)
	}
	id, others, err := k.choose(r)
	if err != nil {
		return err
	}
	slow := time.AfterFunc(2*time.Second, func() { fmt.Fprintln(errOut, "reading the events …") })
	shown, err := explained(r, id)
	slow.Stop()
	if err != nil {
		return err
	}
	shown.Others = others
	if shown.Causes.Packets, err = k.packets(shown.Causes.Packets, id); err != nil {
		return err
	}
	if k.format == "json" {
		return writeJSON(out, shown)
	}
	return explain.WriteTable(out, shown)
}

// choose finds the trial to explain, and the others that were traced.
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
		return "", nil, usageError{fmt.Errorf("--trial %s: %s has no such trial; it has %s", k.trial, r.Dir, strings.Join(all, ", "))}
	}
	untraced := func(what string) error {
		return fmt.Errorf("%s: %s was not traced, so nothing tells why its packets were late; add 'trace: true' to the experiment file, or --set trace=true, and run it again", r.Dir, what)
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

// explained computes a trial's causes from the files of its folder.
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
	// Both are there where a trial was traced, and are nothing to be silent about if not.
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
	}, nil
}

// packets are those to show: the slowest first, or the one that was asked for.
func (k explainCall) packets(all []result.PacketCauses, trial string) ([]result.PacketCauses, error) {
	if k.packet == "" {
		return attribution.Slowest(all, k.worst), nil
	}
	id, err := strconv.ParseUint(k.packet, 10, 32)
	if err != nil {
		return nil, usageError{fmt.Errorf("--packet %q: write a packet's id, a number; outliers.csv has them", k.packet)}
	}
	for _, p := range all {
		if uint64(p.ID) == id {
			return []result.PacketCauses{p}, nil
		}
	}
	return nil, usageError{fmt.Errorf("--packet %d: it is not among the %d slowest of trial %s, whose ids outliers.csv has", id, len(all), trial)}
}
