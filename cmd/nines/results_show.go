package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/result/index"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newResultsShowCommand(call *resultsCall) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "show RESULT",
		Short: "Show one result: host, variables, verdicts, findings",
		Long: `Show one result: when and where it was measured, the values of its variables, the
verdicts of its trials and the findings of its searches. Name a result by its folder,
by its folder below --out, or by its key in the index.
'nines report' shows the measured figures.`,
		Example: `  nines results show latest
  nines results show quickstart/2026-11-20T18-30-05Z
  nines results show latest --format json | jq .findings`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Wrongf("'%s' takes one result, such as latest; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			x, err := call.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer x.Close()
			folder, err := x.Folder(c.Context(), args[0])
			if err != nil {
				return err
			}
			shown, err := x.Show(c.Context(), folder)
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), format, shown, writeShown)
		},
	}
	command.FormatFlag(c, &format)
	return c
}

func writeShown(out io.Writer, shown *index.Shown) error {
	t := &terminal.Table{}
	line := func(name, value string) {
		if value != "" {
			t.Row(name, value)
		}
	}
	line("name", shown.Name)
	line("folder", shown.Path)
	line("key", shown.Result)
	line("started", shown.Started.Format("2006-01-02 15:04:05 UTC"))
	line("host", shown.Hostname)
	line("kernel", shown.Kernel)
	line("trials", fmt.Sprintf("%d: %s", shown.Trials, verdicts(shown.Listed)))
	if shown.Skipped > 0 {
		line("not measured", fmt.Sprintf("%d combinations", shown.Skipped))
	}
	for _, v := range shown.Variables {
		line(v.Name, strings.Join(v.Values, ", "))
	}
	if err := t.Write(out, terminal.Style{}); err != nil || len(shown.Findings) == 0 {
		return err
	}
	t = &terminal.Table{}
	t.Row()
	t.Row("SEARCH", "METHOD", "CONFORMS", "VARIABLES", "FOUND", "VALUE", "LOW", "HIGH", "UNIT", "UNDER")
	for _, f := range shown.Findings {
		conforms := "no"
		if f.Conformant {
			conforms = "yes"
		}
		t.Row(f.Search, f.Method, conforms, f.Variables,
			f.Name, foundFigure(f), optionalFigure(f.Low), optionalFigure(f.High), f.Unit, under(f))
	}
	return t.Write(out, terminal.Style{})
}

// under returns the conditions of a figure, "load=0.5 of=PDR", or the reason why it has none.
func under(f index.FoundFigure) string {
	var conditions map[string]any
	if err := json.Unmarshal([]byte(f.Conditions), &conditions); err != nil { // none
		return f.Reason
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		parts = append(parts, name+"="+result.FormatVariable(conditions[name]))
	}
	if f.Reason != "" {
		parts = append(parts, f.Reason)
	}
	return strings.Join(parts, " ")
}

// foundFigure shows the value of a finding, which may be only the least that it can be.
func foundFigure(f index.FoundFigure) string {
	if f.AtLeast && f.Value != nil {
		return "at least " + optionalFigure(f.Value)
	}
	return optionalFigure(f.Value)
}

// optionalFigure shows a tenth of a packet or nanosecond, and six digits of small figures; --format
// json has all digits.
func optionalFigure(value *float64) string {
	switch {
	case value == nil:
		return "-"
	case math.Abs(*value) >= 1000:
		return strconv.FormatFloat(math.Round(*value*10)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(*value, 'g', 6, 64)
}
