package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/reproduce"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// publishedData is the variable that names the folder with published measurements.
const publishedData = "NINES_PUBLISHED_DATA"

// reproduceCall holds the options of nines reproduce.
type reproduceCall struct {
	claims                    []string
	all, quick                bool
	out, format, from, papers string
	called                    string
}

func newReproduceCommand() *cobra.Command {
	var call reproduceCall
	c := &cobra.Command{
		Use:   "reproduce [PAPER]",
		Short: "Judge the claims of papers on this host",
		Long: `Which figures and claims of published papers hold on this host? Without an argument nines
lists the papers that it knows. With a paper it lists that paper's claims: where the paper
says it, what it says, what a host needs to decide it and how long that takes. So a claim
that is not decidable here says so before anything runs.

--claim, --all or --quick measures: nines builds the network of each claim, measures, and
gives a verdict:

  holds               what was measured shows what the paper says
  differs             it shows the contrary
  not decidable here  the host lacks something, or what was measured cannot tell: a busy
                      host, too few CPUs, an interval that includes the limit

Intervals decide (docs/expectations.md), and where a claim compares two things, a duet or
trials in turn. --quick takes the short forms of the experiments; without a paper it takes
all papers, in at most half an hour on two CPUs.

A folder below --out keeps the verdicts (reproduce.json), a page for each paper with the
published and the measured values side by side (PAPER.html), and the results. --from prints
the verdicts of such a folder again. Claims on published data are judged if NINES_PUBLISHED_DATA
names their folder. --papers adds papers of your own (docs/reproduce.md).

The exit code is 0 if all claims hold or nothing was measured, 4 if one differs, and 5 if
one is not decidable here and none differs.`,
		Example: `  nines reproduce                                      # which papers
  nines reproduce ara2019                              # its claims, and what each needs
  nines reproduce ara2019 --claim table-1-batches      # measure one
  nines reproduce daichendt2022 --quick                # all that this host can decide, in minutes
  nines reproduce --quick                              # of all papers
  nines reproduce --all --format markdown              # as a table for a document
  nines reproduce --from results/reproduce/DATE --format json`,
		Args: func(c *cobra.Command, args []string) error {
			call.called = call.calledAs(c, args)
			return call.check(args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return call.run(c.Context(), args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringArrayVar(&call.claims, "claim", nil, "measure this claim of the paper (repeatable)")
	c.Flags().BoolVar(&call.all, "all", false, "measure all claims that this host can decide")
	c.Flags().BoolVar(&call.quick, "quick", false, "measure in the short forms; without --claim all claims")
	c.Flags().StringVar(&call.out, "out", "results", "the folder of all results")
	c.Flags().StringVar(&call.from, "from", "", "print the verdicts of this folder of a reproduction")
	c.Flags().StringVar(&call.papers, "papers", "", "a folder with papers of your own, in addition")
	c.Flags().StringVar(&call.format, "format", "table", "table, json or markdown")
	return c
}

// calledAs is the call as a user types it.
func (k reproduceCall) calledAs(c *cobra.Command, args []string) string {
	words := append([]string{c.CommandPath()}, args...)
	for _, claim := range k.claims {
		words = append(words, "--claim", claim)
	}
	if k.all {
		words = append(words, "--all")
	}
	if k.quick {
		words = append(words, "--quick")
	}
	return strings.Join(words, " ")
}

func (k reproduceCall) check(args []string) error {
	switch {
	case !slices.Contains([]string{"table", "json", "markdown"}, k.format):
		return exit.Wrongf("unknown --format %q; allowed: table, json, markdown", k.format)
	case len(args) > 1:
		return exit.Wrongf("'nines reproduce' takes one paper, or none for all; several claims of it follow --claim")
	case len(args) == 0 && len(k.claims) > 0:
		return exit.Wrongf("--claim is valid only with a paper: 'nines reproduce PAPER --claim %s'", k.claims[0])
	case k.from != "" && (k.measures() || len(args) > 0):
		return exit.Wrongf("--from prints what was judged: it takes no paper, and neither --claim, --all nor --quick")
	}
	return nil
}

// measures reports whether the call measures, and does not only list.
func (k reproduceCall) measures() bool { return k.all || k.quick || len(k.claims) > 0 }

func (k reproduceCall) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if k.from != "" {
		d, err := reproduce.Open(k.from)
		if err != nil {
			return err
		}
		return errors.Join(k.print(d, true, stdout), verdictsOf(d))
	}
	papers, err := k.selected(args)
	if err != nil {
		return err
	}
	inventory, err := host.Read()
	if err != nil {
		return err
	}
	h := reproduce.Host{Inventory: inventory, Data: os.Getenv(publishedData)}
	d := reproduce.NewDocument(papers, h, k.quick)
	if !k.measures() {
		return k.print(d, len(args) > 0, stdout)
	}
	runs := reproduce.Runs(papers, h, k.quick)
	if err := host.Missing(host.Check(inventory, host.Needs{Root: len(runs) > 0})); err != nil {
		return err
	}
	d.Started, d.Command = time.Now().UTC().Truncate(time.Second), k.called
	dir, err := k.folder(d.Started)
	if err != nil {
		return err
	}
	if others, err := crowd(ctx); err == nil && others != "" && len(runs) > 0 {
		terminal.Printf(stderr, "%s: what needs a quiet host will not be decidable\n", others)
	}
	judged, failed := reproduce.JudgeData(ctx, papers, h)
	d.Add(judged...)
	if failed == nil {
		failed = k.judge(ctx, runs, d, dir, stderr)
	}
	d.Close()
	if err := keep(d, dir); err != nil {
		return errors.Join(failed, err)
	}
	err = k.print(d, true, stdout)
	terminal.Printf(stderr, "\n%s\n", dir)
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	return verdictsOf(d)
}

// selected are the papers of the call, with its claims.
func (k reproduceCall) selected(args []string) ([]reproduce.Paper, error) {
	papers, err := reproduce.Papers()
	if err != nil {
		return nil, err
	}
	if k.papers != "" {
		own, err := reproduce.Read(os.DirFS(k.papers))
		if err != nil {
			return nil, err
		}
		papers = append(papers, own...)
	}
	if len(args) == 0 {
		return papers, nil
	}
	p, err := reproduce.Find(papers, args[0])
	if err != nil {
		return nil, err
	}
	p, err = p.Select(k.claims)
	return []reproduce.Paper{p}, err
}

// folder makes that of a reproduction.
func (k reproduceCall) folder(started time.Time) (string, error) {
	dir := filepath.Join(k.out, "reproduce", started.Format("2006-01-02T15-04-05Z"))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o755)
}

// keep writes the document and the pages of its papers.
func keep(d *reproduce.Document, dir string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	err = writeWhole(filepath.Join(dir, reproduce.DocumentFile), func(out io.Writer) error { _, err := out.Write(append(text, '\n')); return err })
	for i, p := range d.Papers {
		if err != nil {
			return err
		}
		err = writeWhole(filepath.Join(dir, p.ID+".html"), func(out io.Writer) error { return d.WritePage(out, i, dir) })
	}
	return err
}

// print prints the papers, or their claims.
func (k reproduceCall) print(d *reproduce.Document, claims bool, stdout io.Writer) error {
	switch {
	case k.format == "json":
		return command.WriteJSON(stdout, d)
	case k.format == "markdown":
		return d.WriteMarkdown(stdout)
	case !claims:
		return d.WritePapers(stdout)
	}
	if err := d.WriteClaims(stdout); err != nil || d.Started.IsZero() {
		return err
	}
	terminal.Println(stdout)
	return d.WriteTotals(stdout)
}

// verdictsOf is the error that ends the verb with the exit code of the verdicts; nil if all claims hold.
func verdictsOf(d *reproduce.Document) error {
	differ, open := d.Total(reproduce.Different), d.Total(reproduce.NotDecidable)
	all := differ + open + d.Total(reproduce.Held)
	text := fmt.Errorf("%s: %d held, %d different, %d not decidable here", terminal.Count(all, "claim"), all-differ-open, differ, open)
	switch {
	case differ > 0:
		return exit.With(exit.Violated, text)
	case open > 0:
		return exit.With(exit.Undecided, text)
	}
	return nil
}
