package export

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/result"
)

// Kind is the type of a column's values.
type Kind int

// The kinds, with the Go types of their values; nil is no value in any of them.
const (
	Text    Kind = iota // string
	Integer             // int64
	Real                // float64
	Boolean             // bool
	Time                // time.Time, to the nanosecond
)

// Column is a column of the table of trials. Units are in the name.
type Column struct {
	Name string
	Kind Kind
}

// Table has one row a trial.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// column is a column and where a row has its value from.
type column struct {
	Column
	of func(*row) any
}

// row is all that is known of a trial but for its histograms.
type row struct {
	result  *result.Result
	trial   result.Trial
	details *result.Details // nil where they cannot be read
	metrics *result.Metrics // nil where packets were not recorded
	packets string          // the file with the packets, below the result folder
}

// NewTable reads what is known of the trials. Problems are files that could not be
// read: their columns are empty.
func NewTable(r *result.Result, trials []result.Trial, progress Progress) (table *Table, problems []string) {
	after := slices.Concat(counts,
		percentileColumns("latency", func(t *row) result.Percentiles { return t.trial.Latency }),
		percentileColumns("from_tx", func(t *row) result.Percentiles { return t.trial.FromTx }),
		percentileColumns("send_lag", func(t *row) result.Percentiles { return t.trial.SendLag }),
		verdict, details)
	rows := make([]row, len(trials))
	recorded := false
	for i, t := range trials {
		progress.tell(i, len(trials))
		folder := r.TrialFolder(t.ID)
		rows[i] = row{result: r, trial: t}
		if below, _, err := folder.Path(result.PacketsFile); err == nil {
			rows[i].packets = below
		}
		if d, err := folder.Details(); err != nil {
			problems = append(problems, err.Error())
		} else {
			rows[i].details = &d
		}
		if m, err := folder.Metrics(); err != nil {
			problems = append(problems, err.Error())
		} else if m != nil {
			rows[i].metrics, recorded = m, true
		}
	}
	if recorded {
		after = slices.Concat(after, metrics)
	}
	columns := slices.Concat(identity, variableColumns(trials, slices.Concat(identity, after)), after)
	table = &Table{}
	for _, c := range columns {
		table.Columns = append(table.Columns, c.Column)
	}
	for i := range rows {
		values := make([]any, len(columns))
		for j, c := range columns {
			values[j] = c.of(&rows[i])
		}
		table.Rows = append(table.Rows, values)
	}
	return table, problems
}

// variableColumns gives each swept key a column of the type that all its values have:
// whole numbers, numbers, true and false, or else text. It keeps the key as its name
// unless another column has it, as in summary.csv.
func variableColumns(trials []result.Trial, others []column) []column {
	var columns []column
	for _, name := range result.VariableNames(trials) {
		kind := variableKind(trials, name)
		called := name
		for slices.ContainsFunc(slices.Concat(others, columns), func(c column) bool { return c.Name == called }) {
			called = "variable_" + called
		}
		columns = append(columns, column{Column{called, kind}, func(t *row) any {
			return typed(t.trial.Variables[name], kind)
		}})
	}
	return columns
}

// wholeNumbers is below what float64, the type of JSON's numbers, counts by ones.
const wholeNumbers = 1 << 53

func variableKind(trials []result.Trial, name string) Kind {
	kind, first := Text, true
	for _, t := range trials {
		value, there := t.Variables[name]
		if !there || value == nil {
			continue
		}
		this := Text
		switch value := value.(type) {
		case bool:
			this = Boolean
		case float64:
			this = Real
			if value == math.Trunc(value) && math.Abs(value) < wholeNumbers {
				this = Integer
			}
		}
		numbers := func(k Kind) bool { return k == Integer || k == Real }
		switch {
		case first:
			kind, first = this, false
		case kind == this:
		case numbers(kind) && numbers(this):
			kind = Real
		default:
			return Text
		}
	}
	return kind
}

func typed(value any, kind Kind) any {
	if value == nil {
		return nil
	}
	switch number, isNumber := value.(float64); {
	case kind == Text:
		return result.FormatVariable(value)
	case kind == Integer && isNumber:
		return int64(number)
	}
	return value // as variableKind found it
}

// trialColumn, detail and metric make columns of what they are named after.
func trialColumn(name string, kind Kind, of func(*result.Trial) any) column {
	return column{Column{name, kind}, func(t *row) any { return of(&t.trial) }}
}

func detail(name string, kind Kind, of func(*result.Details) any) column {
	return column{Column{name, kind}, func(t *row) any {
		if t.details == nil {
			return nil
		}
		return of(t.details)
	}}
}

func metric(name string, kind Kind, of func(*result.FlowMetrics) any) column {
	return column{Column{name, kind}, func(t *row) any {
		if t.metrics == nil {
			return nil
		}
		return of(&t.metrics.All)
	}}
}

func percentileColumns(prefix string, of func(*row) result.Percentiles) []column {
	figure := func(name string) column {
		return column{Column{prefix + "_" + name + "_ns", Integer}, func(t *row) any { return integer(of(t).Figure(name)) }}
	}
	columns := []column{figure("min"), {Column{prefix + "_mean_ns", Real}, func(t *row) any {
		if mean := of(t).Mean; mean != nil {
			return *mean
		}
		return nil
	}}}
	for _, named := range result.NamedPercentiles() {
		columns = append(columns, figure(named.Name))
	}
	return append(columns, figure("max"),
		column{Column{prefix + "_count", Integer}, func(t *row) any { return count(of(t).Count) }})
}

func integer(value *int64) any {
	if value == nil {
		return nil
	}
	return *value
}

// count keeps a count that no real result has from turning negative.
func count(n uint64) any { return int64(min(n, math.MaxInt64)) }

func unixTime(ns int64) any {
	if ns == 0 {
		return nil
	}
	return time.Unix(0, ns).UTC()
}

// text is nil where nothing is said.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func jsonText(v any) any {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return string(encoded)
}

func sentences(list []string) string { return strings.Join(list, "; ") }
