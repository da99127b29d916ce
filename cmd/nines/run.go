package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/measure"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/testbed/host"
)

// runCall is one call of nines run.
type runCall struct {
	file   string
	sets   []string
	out    string
	format string
}

func newRunCommand() *cobra.Command {
	var call runCall
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Build the network, measure every packet, show the tail, take it down",
		Long: `Run an experiment: build the network that each run of the sweep needs, measure,
show a line for each trial as it ends and a table at the end, write everything to
a folder, and take the network down.

The folder holds a page for the browser (report.html), the summary as JSON and
CSV, and for each trial its histograms and its slowest packets. results/latest
points to the newest. Ctrl-C keeps the trials that are done and puts everything
back. Combinations whose kind of link this host lacks are left out and named; the
exit code is 3 then, with everything else measured.`,
		Example: `  nines run examples/quickstart.yaml
  nines run lab.yaml --set traffic.rate_pps=50000 --set repeat=5
  nines run lab.yaml --set 'sweep.traffic.frame_bytes=[64, 1518]'
  nines run lab.yaml --out /data/results --format json | jq '.trials[].latency_ns.p99'`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(call.format); err != nil {
				return err
			}
			call.file = args[0]
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringArrayVar(&call.sets, "set", nil, "change a key first: KEY=VALUE (repeatable)")
	c.Flags().StringVar(&call.out, "out", "results", "the folder of all results")
	c.Flags().StringVar(&call.format, "format", "table", "what goes to standard output at the end: table or json (summary.json)")
	return c
}

func (r runCall) run(ctx context.Context, stdout, stderr io.Writer) error {
	file, err := loadFile(r.file, r.sets)
	if err != nil {
		return err
	}
	inventory, err := host.Read()
	if err != nil {
		return err
	}
	experiment, err := measure.Prepare(file, inventory)
	if err != nil {
		return err
	}
	findings, err := experiment.Check()
	if err != nil {
		return err
	}
	for _, finding := range findings {
		fmt.Fprintln(stderr, finding)
	}
	writer, err := result.Create(r.out, experiment.Name(), time.Now())
	if err != nil {
		return err
	}
	err = errors.Join(
		writer.WriteExperiment(experiment.Source),
		writer.WriteHost(inventory),
		writer.WritePlan(experiment.Plans()),
	)
	if published := experiment.Published(); len(published) > 0 {
		err = errors.Join(err, writer.WritePublished(published))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s: %d trials, about %v of traffic, into %s\n",
		experiment.Name(), experiment.Trials(), experiment.Duration().Round(time.Second), writer.Dir())
	// Progress is for people and goes to standard error; standard output has the
	// result alone.
	live := report.NewLive(stderr, report.LiveOptions{Total: experiment.Trials(), TrialTime: experiment.TrialTime()})
	measured := experiment.Measure(ctx, writer, &liveWatcher{live: live})
	live.Close()
	interrupted := errors.Is(measured, context.Canceled)
	if writer.Empty() {
		if interrupted {
			measured = errors.New("interrupted before anything was measured")
		}
		// The folder says nothing that the error does not.
		return errors.Join(measured, writer.Discard())
	}
	if interrupted {
		measured = fmt.Errorf("interrupted; what was measured is in %s", writer.Dir())
	}
	return errors.Join(measured, r.finish(writer, stdout, stderr), experiment.LeftOut())
}

// finish writes the page and shows what there is, also of a run that failed.
func (r runCall) finish(writer *result.Writer, stdout, stderr io.Writer) error {
	page := func(w io.Writer) error { return report.WritePage(writer.Dir(), w) }
	// A disk that is too full for the page must not hide the table.
	written := errors.Join(writer.WriteReport(page), writer.Close())
	if r.format == "json" {
		return errors.Join(writeJSON(stdout, writer.Summary()), written)
	}
	err := report.WriteTable(stdout, writer.Summary(), report.TableOptions{})
	if err == nil && written == nil {
		var r *result.Result
		if r, err = result.Open(writer.Dir()); err == nil {
			err = report.WritePublished(stdout, r)
		}
	}
	if err != nil || written != nil {
		return errors.Join(err, written)
	}
	fmt.Fprintf(stderr, "\n%s\n%s\n", writer.Dir(), filepath.Join(writer.Dir(), result.ReportFile))
	return nil
}

// liveWatcher shows a measurement as it goes.
type liveWatcher struct {
	live  *report.Live
	lasts time.Duration // the running trial
}

func (w *liveWatcher) Doing(what string) { w.live.Status("%s", what) }

func (w *liveWatcher) Baseline(variables map[string]any) {
	w.live.Status("baseline of the generator alone")
}

func (w *liveWatcher) Trial(variables map[string]any, repeat int, lasts time.Duration) {
	w.lasts = lasts
	w.live.Begin(variables, repeat)
}

func (w *liveWatcher) Maximum(variables map[string]any, lasts time.Duration) {
	w.live.Status("the maximum: %s", report.Describe(variables))
}

func (w *liveWatcher) Skipped(skipped result.Skipped) { w.live.Skipped(skipped) }

func (w *liveWatcher) Progress(second int, _, _ uint64) {
	w.live.Progress(time.Duration(second)*time.Second, w.lasts)
}

func (w *liveWatcher) Measured(trial result.Trial) { w.live.Trial(trial) }
