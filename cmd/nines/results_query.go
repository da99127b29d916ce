package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/result/index"
	"nines.dev/nines/terminal"
)

func newResultsQueryCommand(call *resultsCall) *cobra.Command {
	var format string
	var timeout time.Duration
	formats := []string{"table", "json", "csv"}
	c := &cobra.Command{
		Use:   `query "SQL"`,
		Short: "Query the index with SQL, read-only",
		Long: `Run one SQL statement on the index and print its rows. The index is opened read-only, so
a statement that would change it fails.

The tables are results, trials, variables, searches, search_variables, findings and
hosts; docs/results-index.md describes every column with its unit, with more examples.
An index can hold several stores; with PostgreSQL, results.store tells hosts apart.`,
		Example: `  nines results query "select name, count(*) from results group by name"
  nines results query "select v.value, t.latency_p99_ns from trials t
      join variables v using (result, trial) where v.name = 'traffic.rate_pps'"
  nines results query "select * from findings where name = 'NDR'" --format csv > ndr.csv`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Wrongf("'%s' takes one statement, in quotes; got %d", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return exit.Wrongf("unknown --format %q; %s", format, terminal.Choose(format, "allowed:", formats))
			}
			if timeout <= 0 {
				return exit.Wrongf("--timeout %v: write a time that has to pass, such as 5m", timeout)
			}
			x, err := call.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer x.Close()
			answer := answerIn(format, c.OutOrStdout())
			if err := x.Query(c.Context(), args[0], timeout, answer); err != nil {
				return err
			}
			return answer.Close()
		},
	}
	c.Flags().StringVar(&format, "format", "table", strings.Join(formats, ", "))
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "time limit for the statement")
	return c
}

// answer prints the rows of a query.
type answer interface {
	index.Answer
	Close() error
}

func answerIn(format string, out io.Writer) answer {
	switch format {
	case "json":
		return &jsonAnswer{out: terminal.JSON(out)}
	case "csv":
		return &csvAnswer{out: csv.NewWriter(out)}
	}
	return &tableAnswer{out: out}
}

// tableAnswer prints a table, and a last line with the number of rows.
type tableAnswer struct {
	out   io.Writer
	table terminal.Table
}

func (a *tableAnswer) Columns(names []string) error {
	for _, name := range names {
		a.table.Words(name)
	}
	return nil
}

func (a *tableAnswer) Row(values []any) error {
	cells := make([]any, len(values))
	for i, text := range texts(values, terminal.None) {
		cells[i] = text
	}
	a.table.Row(cells...)
	return nil
}

func (a *tableAnswer) Close() error {
	if err := a.table.Write(a.out, terminal.Style{}); err != nil {
		return err
	}
	_, err := terminal.Printf(a.out, "(%s)\n", terminal.Count(a.table.Len(), "row"))
	return err
}

type csvAnswer struct{ out *csv.Writer }

func (a *csvAnswer) Columns(names []string) error { return a.write(names) }
func (a *csvAnswer) Row(values []any) error       { return a.write(texts(values, "")) }

func (a *csvAnswer) write(cells []string) error {
	for i, cell := range cells {
		cells[i] = result.CSVText(cell)
	}
	return a.out.Write(cells)
}

func (a *csvAnswer) Close() error {
	a.out.Flush()
	return a.out.Error()
}

// jsonAnswer writes a list of objects, one per line, with the columns in order.
type jsonAnswer struct {
	out   io.Writer
	names []string
	rows  int
}

func (a *jsonAnswer) Columns(names []string) error {
	for _, name := range names {
		encoded, err := json.Marshal(name)
		if err != nil {
			return err
		}
		a.names = append(a.names, string(encoded))
	}
	_, err := io.WriteString(a.out, "[")
	return err
}

func (a *jsonAnswer) Row(values []any) error {
	var row strings.Builder
	if a.rows++; a.rows > 1 {
		row.WriteString(",")
	}
	row.WriteString("\n  {")
	for i, value := range values {
		encoded, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if i > 0 {
			row.WriteString(", ")
		}
		row.WriteString(a.names[i] + ": " + string(encoded))
	}
	_, err := io.WriteString(a.out, row.String()+"}")
	return err
}

func (a *jsonAnswer) Close() error {
	end := "]\n"
	if a.rows > 0 {
		end = "\n]\n"
	}
	_, err := io.WriteString(a.out, end)
	return err
}

func texts(values []any, null string) []string {
	cells := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case nil:
			cells[i] = null
		case float64:
			cells[i] = strconv.FormatFloat(value, 'f', -1, 64)
		case time.Time:
			cells[i] = value.Format(time.RFC3339Nano)
		default:
			cells[i] = fmt.Sprint(value)
		}
	}
	return cells
}
