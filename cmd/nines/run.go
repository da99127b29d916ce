package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/measure"
	"nines.dev/nines/report"
	"nines.dev/nines/report/expectation"
	"nines.dev/nines/report/explain"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// runCall holds the options of nines run.
type runCall struct {
	file   string
	sets   []string
	out    string
	format string
	quiet  bool
	// begins is called when nothing can refuse the measurement any longer; nil for nothing.
	begins func() error
	// written is called with the folder of a result that has a trial; nil for nothing.
	written func(dir string)
	expecting
	// resume is the folder of a result to continue, instead of a file to start with.
	resume string
}

func newRunCommand() *cobra.Command {
	var call runCall
	c := &cobra.Command{
		Use:        "run FILE | run --resume DIR",
		Short:      "Build the network, measure every packet, and take it down",
		SuggestFor: []string{"measure", "bench", "benchmark", "iperf", "test"},
		Long: `Run an experiment: build the network for each run of the sweep, measure, show a line for
each finished trial and a table at the end, write everything to a folder, and take the
network down.

The folder contains a page for the browser (report.html), the summary as JSON and CSV,
and for each trial its histograms and slowest packets. results/latest points to the
newest result that has a trial. Ctrl-C keeps the finished trials and takes the network
down; after a crash, nines down or the next run does. --resume continues a result that was
cut off: finished trials stay, and nines runs the rest. A soak continues with its next
window.

Nodes with scripts (scripts: in the file, docs/scripts.md) run them in every trial, beside
the traffic or instead of it. A script that fails makes its trial invalid.

With a search method (method: in the file, docs/methods.md), each combination takes as
many trials as the search needs, and the table begins with what it found. nines skips
and names combinations whose kind of link this host lacks; it measures everything else,
and the exit code is 3. If a node, an engine or a switch dies in a trial, the next trial
gets a new network, and the exit code is 1. If no packet passes a network (path_timeout:
in the file), its trials are refused, with what each hop counted, and the exit code is 2.
A trial that is invalid for other reasons is a result: the exit code is 0, or 1 if all
are invalid.`,
		Example: `  nines run examples/quickstart.yaml
  nines run lab.yaml --set traffic.rate_pps=50000 --set repeat=5
  nines run lab.yaml --set 'sweep.traffic.frame_bytes=[64, 1518]'
  nines run examples/mlrsearch.yaml --set method.quick=true
  nines run --resume results/latest                 # after Ctrl-C, a crash or a reboot
  nines run lab.yaml --out /data/results --format json | jq '.trials[].latency_ns.p99'`,
		Args: func(c *cobra.Command, args []string) error {
			if err := call.check(c); err != nil {
				return err
			}
			if call.resume == "" {
				return oneFile(c, args)
			}
			return call.checkResume(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if call.resume == "" {
				call.file = args[0]
			}
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringArrayVar(&call.sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.out, "out", "results", "the folder of all results")
	c.Flags().StringVar(&call.resume, "resume", "", "continue the result in this folder, whose run was cut off")
	call.outputFlags(c)
	call.expecting.flags(c)
	return c
}

// outputFlags are those that say what is printed.
func (r *runCall) outputFlags(c *cobra.Command) {
	command.FormatFlag(c, &r.format)
	c.Flag("format").Usage = "what to print at the end: table or json (summary.json); with json progress is lines of JSON, too"
	c.Flags().BoolVar(&r.quiet, "quiet", false, "print only the result, and errors")
}

// checkResume checks that the call gives nothing that the result already has.
func (r runCall) checkResume(c *cobra.Command, args []string) error {
	if len(args) > 0 || c.Flags().Changed("set") || c.Flags().Changed("out") || c.Flags().Changed("expect") {
		return exit.Wrongf("'nines run --resume DIR' takes its experiment from DIR, so neither a file nor --set, --expect or --out; start over with 'nines run FILE'")
	}
	return nil
}

// load reads the experiment; with --resume, the copy in the result.
func (r runCall) load() (*spec.File, error) {
	if r.resume == "" {
		return loadFile(r.file, r.sets)
	}
	return keptFile(r.resume)
}

// keptFile is the experiment of a result, with the scripts and the folder that it had.
func keptFile(dir string) (*spec.File, error) {
	kept, err := result.Open(dir)
	if err == nil {
		_, err = kept.Experiment() // it refuses what is no plain file, such as a link
	}
	if err != nil {
		return nil, err
	}
	file, err := loadFile(filepath.Join(dir, result.ExperimentFile), nil)
	if err != nil {
		return nil, err
	}
	scripts, err := result.ReadScripts(dir)
	if err != nil {
		return nil, err
	}
	texts := spec.ScriptTexts{}
	for path, text := range scripts {
		texts[spec.Script(path)] = text
	}
	file.UseScripts(texts)
	origin, err := result.ReadOrigin(dir)
	if err != nil {
		return nil, err
	}
	file.UseOrigin(origin)
	return file, nil
}

// writer creates a result, or opens the one to resume.
func (r runCall) writer(experiment *measure.Experiment, inventory *host.Inventory) (*result.Writer, error) {
	if r.resume != "" {
		writer, err := result.Reopen(r.resume)
		if err != nil {
			return nil, err
		}
		if err := experiment.CanResume(writer); err != nil {
			return nil, err
		}
		return writer, writer.Resume(time.Now())
	}
	writer, err := result.Create(r.out, experiment.Name(), time.Now())
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		writer.WriteExperiment(experiment.Source, experiment.Origin),
		writer.WriteHost(inventory),
		writer.WritePlan(experiment.Plans()),
	)
	if scripts := experiment.KeptScripts(); len(scripts) > 0 {
		err = errors.Join(err, writer.WriteScripts(scripts))
	}
	if published := experiment.Published(); len(published) > 0 {
		err = errors.Join(err, writer.WritePublished(published))
	}
	return writer, err
}

// begin prints what will be measured.
func begin(w io.Writer, experiment *measure.Experiment, writer *result.Writer, left int) {
	if events, is := w.(*report.Events); is {
		events.Started(experiment.Name(), writer.Dir(), left)
		return
	}
	extent := "about"
	if experiment.EndsEarly() {
		extent = "at most"
	}
	what := fmt.Sprintf("%s, %s %v of traffic", terminal.Count(experiment.Trials(), "trial"), extent, experiment.Duration().Round(time.Second))
	if networks := experiment.Networks(); networks > 1 {
		what += fmt.Sprintf(" and %d networks to build", networks) // how long each takes, only the host knows
	}
	if !experiment.HasTraffic() {
		what = terminal.Count(experiment.Trials(), "trial") + " of scripts"
	}
	if searches := experiment.Searches(); searches > 0 {
		plural := ""
		if searches != 1 {
			plural = "es"
		}
		searched := fmt.Sprintf("%d search%s by %s", searches, plural, strings.Join(experiment.Methods(), ", "))
		if experiment.Trials() == 0 {
			what = searched
		} else {
			what += ", " + searched
		}
	}
	if all := experiment.Trials() + experiment.Searches(); left < all {
		what += fmt.Sprintf(" (%d of %d are left)", left, all)
	}
	terminal.Printf(w, "%s: %s, into %s\n", experiment.Name(), what, writer.Dir())
}

func (r runCall) run(ctx context.Context, stdout, stderr io.Writer) error {
	file, err := r.load()
	if err != nil {
		return err
	}
	if err := r.addTo(file); err != nil {
		return err
	}
	return r.measure(ctx, file, stdout, stderr)
}

// measure measures a loaded file, or what is left of the result to resume.
func (r runCall) measure(ctx context.Context, file *spec.File, stdout, stderr io.Writer) error {
	stderr = r.progressOf(stderr)
	experiment, inventory, err := prepared(ctx, file)
	if err != nil {
		return err
	}
	expected, err := r.of(file)
	if err != nil {
		return err
	}
	experiment.Explain = explain.Fill
	findings, err := experiment.Check()
	if err != nil {
		return err
	}
	for _, finding := range findings {
		terminal.Println(stderr, finding)
	}
	session, err := experiment.Begin(ctx)
	if err != nil {
		return err
	}
	if r.begins != nil {
		if err := r.begins(); err != nil {
			return errors.Join(err, session.End())
		}
	}
	writer, err := r.writer(experiment, inventory)
	if err != nil {
		return errors.Join(err, session.End())
	}
	left := experiment.Left(writer)
	begin(stderr, experiment, writer, left)
	// Progress goes to standard error; standard output has only the result.
	live := viewOf(stderr, report.LiveOptions{Total: left, TrialTime: experiment.TrialTime()})
	measured := session.Measure(ctx, writer, &liveWatcher{live: live})
	live.Close()
	if writer.Empty() {
		if errors.Is(measured, context.Canceled) {
			measured = errors.New("interrupted before anything was measured")
		}
		// The folder contains nothing that the error does not say.
		return errors.Join(measured, writer.Discard())
	}
	if measured != nil {
		expected.asked = nil // 'nines expect' decides on what was measured
	}
	decided, err := r.finish(writer, expected, stdout, stderr)
	if r.written != nil {
		r.written(writer.Dir())
	}
	err = errors.Join(resumable(measured, writer, experiment.Left(writer)), err)
	if leftOut := experiment.LeftOut(); leftOut != nil && err == nil {
		return leftOut
	} else if leftOut != nil {
		return errors.Join(err, errors.New(leftOut.Error())) // its exit code is only for runs without other errors
	}
	if err == nil {
		err = decided
	}
	if err == nil {
		err = noValidTrial(writer.Summary().Trials)
	}
	return err
}

// noValidTrial is an error for a run whose trials are all invalid: no figure of it is an answer.
func noValidTrial(trials []result.Trial) error {
	if len(trials) == 0 || slices.ContainsFunc(trials, func(t result.Trial) bool { return t.Verdict != result.Invalid }) {
		return nil
	}
	why := strings.Join(trials[0].Reasons[:min(len(trials[0].Reasons), 1)], "") // the table has the others
	if slices.ContainsFunc(trials, func(t result.Trial) bool { return t.RxPackets > 0 }) {
		return fmt.Errorf("no trial is valid, so no figure above is an answer: %s", why)
	}
	return fmt.Errorf("nothing was measured: %s", why)
}

// prepared plans the runs of a file on this host, and returns what the host is.
func prepared(ctx context.Context, file *spec.File) (*measure.Experiment, *host.Inventory, error) {
	// Before the host is read: releases what a measurement that died had taken of it.
	if err := lab.RemoveOrphans(ctx); err != nil {
		return nil, nil, err
	}
	inventory, err := host.Read()
	if err != nil {
		return nil, nil, err
	}
	runs, err := file.Runs()
	if err != nil {
		return nil, nil, err
	}
	if inventory, err = withUplinks(inventory, runs); err != nil {
		return nil, nil, err
	}
	experiment, err := measure.Prepare(file, inventory)
	return experiment, inventory, err
}

// resumable adds to an error how to measure the rest, if any is left.
func resumable(measured error, writer *result.Writer, left int) error {
	died, kept := (*measure.DeathsError)(nil), (*result.WriteError)(nil)
	hasDied := errors.As(measured, &died)
	switch {
	case measured == nil, errors.As(measured, &kept):
		return measured // nothing is left, or the error itself says what is there
	case hasDied && died.Whole() && died.Alone:
		return measured
	case left == 0 && !hasDied && errors.As(measured, new(*measure.RefusedError)):
		return measured
	case errors.Is(measured, context.Canceled):
		interrupted := fmt.Errorf("interrupted; the finished trials are in %s, and 'nines run --resume %[1]s' continues it", writer.Dir())
		if hasDied {
			return errors.Join(interrupted, died)
		}
		return interrupted
	}
	return fmt.Errorf("%w\nthe finished trials are in %s, and 'nines run --resume %[2]s' continues it", measured, writer.Dir())
}

// finish writes the page and prints the results, also those of a failed run. It returns what was decided on expectations,
// as the error that ends a verb.
func (r runCall) finish(writer *result.Writer, expected expected, stdout, stderr io.Writer) (decided, err error) {
	var j *expectation.Judgements
	var judged error
	if len(expected.asked) > 0 {
		j, judged = expected.judgeFolder(writer.Dir())
	}
	// A disk that is too full for the page must not hide the table.
	var written error
	if len(writer.Summary().Trials) > 0 {
		written = writer.WriteReport(func(w io.Writer) error { return writePage(writer.Dir(), w, j) })
	}
	written = errors.Join(written, writer.Close(), judged)
	if r.format == "json" {
		if events, is := stderr.(*report.Events); is && written == nil {
			events.Ended(writer.Dir())
		}
		err = command.WriteJSON(stdout, printed{writer.Summary(), writer.Searches(), report.Answer(writer.Summary()), j.Document()})
	} else {
		err = r.print(writer, j, written == nil, stdout, stderr)
	}
	if err = errors.Join(err, written); err != nil || j == nil {
		return nil, err
	}
	return verdictOf(*j), r.tell(*j)
}

// writePage writes the page of a folder with what was decided on expectations.
func writePage(dir string, w io.Writer, j *expectation.Judgements) error {
	r, err := result.Open(dir)
	if err != nil {
		return err
	}
	return report.WritePageOf(r, w, report.PageOptions{Expected: j.OnPage()})
}

// print prints the tables of a result, and where it is if that is whole.
func (r runCall) print(writer *result.Writer, j *expectation.Judgements, whole bool, stdout, stderr io.Writer) error {
	err := report.WriteTable(stdout, writer.Summary(), report.TableOptions{Searches: writer.Searches()})
	if err == nil && whole {
		var r *result.Result
		if r, err = result.Open(writer.Dir()); err == nil {
			err = errors.Join(report.WritePublished(stdout, r), report.WriteReceived(stdout, r), report.WriteImpaired(stdout, r), report.WritePackets(stdout, r))
		}
	}
	if err == nil && j != nil {
		terminal.Println(stdout)
		err = expectation.WriteTable(stdout, *j)
	}
	if err != nil || !whole {
		return err
	}
	terminal.Printf(stderr, "\n%s\n", writer.Dir())
	if len(writer.Summary().Trials) > 0 {
		terminal.Println(stderr, filepath.Join(writer.Dir(), result.ReportFile))
	}
	return nil
}

// printed is summary.json with the content of searches.json, what the trials decide, in sentences, and what was decided on
// expectations, if any.
type printed struct {
	result.Summary
	Searches []result.Search `json:"searches,omitempty"`
	Answer   []string        `json:"answer,omitempty"`
	// Expectations is nil if nothing is expected.
	Expectations *expectation.Document `json:"expectations,omitempty"`
}
