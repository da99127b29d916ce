package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/result/index"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newResultsListCommand(call *resultsCall) *cobra.Command {
	var format, verdict string
	var variables []string
	var filter index.Filter
	c := &cobra.Command{
		Use:   "ls",
		Short: "List results, newest first",
		Long: `List results, newest first, with the verdicts of their trials: clean, noisy, invalid or unmeasured.
--var and --verdict list only results with a trial that matches all of them. The end of
a key is enough ("kind" for "links.*.kind").`,
		Example: `  nines results ls
  nines results ls --name 'quick*' --limit 5
  nines results ls --var kind=veth --var rate_pps=10000 --verdict clean
  nines results ls --format json | jq -r '.[].path'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter.Variables = map[string]string{}
			for _, variable := range variables {
				name, value, found := strings.Cut(variable, "=")
				if !found || name == "" {
					return exit.Wrongf("--var %q: write KEY=VALUE, such as kind=veth", variable)
				}
				if before, twice := filter.Variables[name]; twice && before != value {
					return exit.Wrongf("--var %s: no trial has both %s and %s; write one of them", name, before, value)
				}
				filter.Variables[name] = value
			}
			filter.Verdict = result.Verdict(verdict)
			if verdict != "" && !slices.Contains(result.Verdicts(), filter.Verdict) {
				return exit.Wrongf("unknown --verdict %q; allowed: clean, noisy, invalid, unmeasured", verdict)
			}
			if filter.Limit < 0 {
				return exit.Wrongf("--limit %d: write how many to list, or 0 for all", filter.Limit)
			}
			x, err := call.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer x.Close()
			list, err := x.List(c.Context(), filter)
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), format, list, writeResults)
		},
	}
	command.FormatFlag(c, &format)
	c.Flags().StringVar(&filter.Name, "name", "", "only experiments with this name; * and ? match as in a shell")
	c.Flags().StringArrayVar(&variables, "var", nil, "only results with a trial where KEY=VALUE (repeatable)")
	c.Flags().StringVar(&verdict, "verdict", "", "only results with a trial of this verdict: clean, noisy, invalid or unmeasured")
	c.Flags().IntVar(&filter.Limit, "limit", 0, "list at most this many")
	return c
}

func writeResults(out io.Writer, list []index.Listed) error {
	if len(list) == 0 {
		_, err := terminal.Printf(out, "no result\n")
		return err
	}
	t := &terminal.Table{}
	t.Row("STARTED (UTC)", "NAME", "TRIALS", "VERDICTS", "SEARCHES", "HOST", "FOLDER")
	for _, l := range list {
		t.Row(l.Started.Format("2006-01-02 15:04:05"), l.Name, l.Trials,
			verdicts(l), l.Searches, l.Hostname, l.Folder)
	}
	return t.Write(out, terminal.Style{})
}

// verdicts returns text such as "18 clean, 2 noisy".
func verdicts(l index.Listed) string {
	var parts []string
	for _, part := range []struct {
		count   int
		verdict result.Verdict
	}{{l.Clean, result.Clean}, {l.Noisy, result.Noisy}, {l.Invalid, result.Invalid}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.verdict))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
