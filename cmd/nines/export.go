package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/result/export"
	"nines.dev/nines/terminal"
)

// exportCall holds the options of nines export.
type exportCall struct {
	ctx           context.Context
	format, out   string
	trials        []string
	series        []string
	merge, blocks bool
	folder        *result.Result
	chosen        []result.Trial
	stdout, words io.Writer
}

func newExportCommand() *cobra.Command {
	var call exportCall
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a result as CSV, Parquet, HdrHistogram log, JSON or CSIT strings",
		Long: `Write a result folder in a format for other tools, to standard output or with --out to
a file:

  csv      one row per trial: variables, counts, all percentiles, verdict, details
  parquet  the same with typed columns, for DuckDB, pandas and Spark
  hlog     an HdrHistogram log with one line per trial and series; --merge adds up the
           repeats of a combination, --blocks keeps a line for each time block of a trial
  json     one document with everything a reviewer needs: the experiment, the host, the
           plan, and each trial with its histograms, outliers and verdict
  csit     one line per trial with FD.io CSIT's latency string, min/avg/max/hdrh, in
           microseconds; hdrh is base64 of a compressed HdrHistogram
  comparisons
           one row per quantity that a duet compared, as CSV: both values, difference and
           ratio with their 95 % intervals, and the decision
  packets  the Parquet file with a row per packet of a trial, if packets were recorded
           (traffic.packets)

docs/reference/exports.md describes every column with its unit.`,
		Example: `  nines export results/latest --format csv > trials.csv
  nines export results/latest --format parquet --out trials.parquet
  duckdb -c "select \"links.*.kind\", median(latency_p99_ns) from 'trials.parquet' group by 1"
  nines export results/latest --format hlog --merge --series latency --out run.hlog
  nines export results/latest --format hlog --blocks --trial 0007 > latency-over-time.hlog
  nines export results/latest --format comparisons   # what a duet decided
  nines export results/latest --format csit --trial 0007 | tail -1 | cut -f6`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			call.stdout, call.words = c.OutOrStdout(), c.ErrOrStderr()
			call.ctx = c.Context()
			if err := call.run(args[0]); call.ctx.Err() == nil {
				return err
			}
			return errors.New("interrupted")
		},
	}
	c.Flags().StringVar(&call.format, "format", "csv", strings.Join(exportFormats, ", "))
	c.Flags().StringVar(&call.out, "out", "", "write to this file instead of standard output")
	c.Flags().StringArrayVar(&call.trials, "trial", nil, "only this trial (repeatable)")
	c.Flags().StringArrayVar(&call.series, "series", nil, "hlog: only latency, from_tx, send_lag or undisturbed (repeatable)")
	c.Flags().BoolVar(&call.merge, "merge", false, "hlog: merge the repeats of each combination of variables")
	c.Flags().BoolVar(&call.blocks, "blocks", false, "hlog, json: keep the time blocks of each trial")
	return c
}

var exportFormats = []string{"csv", "parquet", "hlog", "json", "csit", "packets", "comparisons"}

func (e *exportCall) run(dir string) error {
	if err := e.check(); err != nil {
		return err
	}
	var err error
	if e.folder, err = openResult(dir); err != nil {
		return err
	}
	if e.chosen, err = export.Select(e.folder, e.trials); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	complainOf(e.words, e.folder, e.folder.Problems)
	if e.out != "" {
		return writeWhole(e.out, e.write)
	}
	if file, ok := e.stdout.(*os.File); ok && slices.Contains([]string{"parquet", "packets"}, e.format) && isTerminal(file) {
		return exit.Wrongf("refusing to write Parquet to a terminal: use --out FILE, or redirect standard output")
	}
	out := bufio.NewWriter(e.stdout)
	return errors.Join(e.write(out), out.Flush())
}

func (e *exportCall) check() error {
	if !slices.Contains(exportFormats, e.format) {
		return exit.Wrongf("unknown --format %q; %s", e.format, terminal.Choose(e.format, "allowed:", exportFormats))
	}
	series := []string{result.TagLatency, result.TagFromTx, result.TagSendLag, result.TagUndisturbed}
	for _, s := range e.series {
		if !slices.Contains(series, s) {
			return exit.Wrongf("unknown --series %q; %s", s, terminal.Choose(s, "allowed:", series))
		}
	}
	if e.format != "hlog" && (e.merge || len(e.series) > 0) {
		return exit.Wrongf("--merge and --series are for --format hlog")
	}
	if e.blocks && e.format != "hlog" && e.format != "json" {
		return exit.Wrongf("--blocks is for --format hlog and json")
	}
	if e.blocks && e.merge {
		return exit.Wrongf("--merge adds up what --blocks keeps apart: use one of them")
	}
	return nil
}

func (e *exportCall) write(w io.Writer) error {
	w = untilDone{e.ctx, w}
	line := newProgressLine(e.words)
	defer line.clear()
	progress := line.counted("trials exported")
	switch e.format {
	case "hlog":
		return export.WriteHlog(w, e.folder, e.chosen, export.HlogOptions{Series: e.series, Merge: e.merge, Blocks: e.blocks}, progress)
	case "json":
		return export.WriteJSON(terminal.JSON(w), e.folder, e.chosen, e.blocks, progress)
	case "csit":
		return export.WriteCSIT(w, e.folder, e.chosen, progress)
	case "comparisons":
		if err := export.WriteComparisons(w, e.chosen); err != nil {
			return fmt.Errorf("%s: %w", e.folder.Dir, err)
		}
		return nil
	case "packets":
		return export.WritePackets(w, e.folder, e.chosen)
	}
	table, problems := export.NewTable(e.folder, e.chosen, progress)
	for i := range problems {
		problems[i] += "; its columns stay empty"
	}
	complainOf(e.words, e.folder, problems)
	if e.format == "parquet" {
		return export.WriteParquet(w, table)
	}
	return export.WriteCSV(w, table)
}

// untilDone is a writer that fails once a context is done, which ends the export.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}
