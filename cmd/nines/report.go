package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newReportCommand() *cobra.Command {
	var format, out string
	var repeats, tail bool
	var percentile float64
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Show a result as a table and write its page",
		Long: `Show a result folder as a table: offered and received rate, loss and latency for each
combination of the swept variables, with a verdict on the noise.

The figures of repeats are their median. "p99 interval" is the 95 % confidence interval
of that median (a bootstrap over the repeats). A dash means that the trial has too few
packets for the percentile. Published figures (published: in the
experiment file) follow below, beside the measured ones.
--out also writes the result's page, one file that opens offline; it begins with what
the trials decide, and with the decisions on what the file expects.
--tail answers for the 99.99999th percentile, or the one that --percentile names: as
measured if enough packets reach it, otherwise extrapolated from the slowest packets
with an interval, or refused with the reasons why it would be a guess.
The folder is enough, so a result from another machine shows the same.`,
		Example: `  nines report results/latest                        # the newest result
  nines report results/latest --repeats              # each repeat on its own line
  nines report results/latest --out report.html      # the page, one offline file
  nines report results/latest --tail                 # what is the 99.99999th, and how sure is that
  nines report results/latest --format json | jq '.groups[].figures.latency_p99_ns.median'`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			if !(percentile > 0 && percentile < 100) {
				return exit.Wrongf("--percentile %g: write a number between 0 and 100, such as 99.99999", percentile)
			}
			tail = tail || c.Flags().Changed("percentile")
			r, err := openResult(args[0])
			if err != nil {
				return err
			}
			complainOf(c.ErrOrStderr(), r, r.Problems)
			if out != "" {
				if err := writeReport(r, out, c.ErrOrStderr()); err != nil {
					return err
				}
			}
			var tails []report.GroupTail
			if tail {
				var problems []error
				stop := sayIfSlow(c.ErrOrStderr(), "reading the slowest packets …")
				tails, problems = report.Tails(c.Context(), r, result.Part(percentile))
				stop()
				if err := c.Context().Err(); err != nil {
					return context.Cause(c.Context())
				}
				for _, problem := range problems {
					complain(c.ErrOrStderr(), "%v", problem)
				}
			}
			defer sayIfSlow(c.ErrOrStderr(), fmt.Sprintf("reading the files of %s …", terminal.Count(len(r.Summary.Trials), "trial")))()
			if format == "json" {
				packets, problems := report.Packets(r)
				for _, problem := range problems {
					complain(c.ErrOrStderr(), "%v", problem)
				}
				return report.WriteTableJSON(c.OutOrStdout(), r.Summary, r.Searches, tails, packets)
			}
			if err := report.WriteTable(c.OutOrStdout(), r.Summary, report.TableOptions{Repeats: repeats, Searches: r.Searches}); err != nil {
				return err
			}
			if err := report.WritePublished(c.OutOrStdout(), r); err != nil {
				return err
			}
			if err := report.WriteReceived(c.OutOrStdout(), r); err != nil {
				return err
			}
			if err := report.WriteImpaired(c.OutOrStdout(), r); err != nil {
				return err
			}
			if err := report.WritePackets(c.OutOrStdout(), r); err != nil {
				return err
			}
			return report.WriteTails(c.OutOrStdout(), tails)
		},
	}
	command.FormatFlag(c, &format)
	c.Flags().StringVar(&out, "out", "", "also write the page to this file")
	c.Flags().BoolVar(&tail, "tail", false, "estimate a percentile that too few packets reach")
	c.Flags().Float64Var(&percentile, "percentile", 99.99999, "the percentile for --tail")
	c.Flags().BoolVar(&repeats, "repeats", false, "show each repeat instead of the median")
	return c
}

func oneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Wrongf("'%s' takes one result folder, such as results/latest; see '%s --help'", c.CommandPath(), c.CommandPath())
	}
	return nil
}

// openResult opens a result that has something to show.
func openResult(dir string) (*result.Result, error) {
	r, err := result.Open(dir)
	if err != nil {
		return nil, err
	}
	if len(r.Summary.Trials) == 0 {
		return nil, fmt.Errorf("%s: the run ended before its first trial was finished, so there is nothing to show; 'nines run --resume %[1]s' continues it", dir)
	}
	return r, nil
}

func writeReport(r *result.Result, path string, words io.Writer) error {
	line := newProgressLine(words)
	defer line.clear()
	j, err := decidedOn(r.Dir, r)
	if err != nil {
		line.clear()
		complain(words, "the page has no decision on what the file expects: %v", err)
	}
	o := report.PageOptions{Expected: j.OnPage(), Progress: line.counted("trials read for the page")}
	return writeWhole(path, func(out io.Writer) error { return report.WritePageOf(r, out, o) })
}
