package export

import (
	"io"

	"nines.dev/nines/result"
)

// Table has one row per trial.
type Table struct {
	Columns []result.Column
	Rows    [][]any
}

// NewTable reads the trials' data. Problems are unreadable files: their columns are empty.
func NewTable(r *result.Result, trials []result.Trial, progress Progress) (table *Table, problems []string) {
	rows := make([]result.Row, len(trials))
	form := result.InExport
	for i, t := range trials {
		progress.tell(i, len(trials))
		folder := r.TrialFolder(t.ID)
		rows[i] = result.Row{Summary: &r.Summary, Trial: &trials[i]}
		if below, _, err := folder.Path(result.PacketsFile); err == nil {
			rows[i].Packets = below
		}
		if d, err := folder.Details(); err != nil {
			problems = append(problems, err.Error())
		} else {
			rows[i].Details = &d
		}
		var err error
		if rows[i].Metrics, err = folder.Metrics(); err != nil {
			problems = append(problems, err.Error())
		} else if rows[i].Metrics != nil {
			form |= result.InRecorded
		}
	}
	table = &Table{Columns: result.WithVariables(trials, result.Columns(form))}
	for i := range rows {
		values := make([]any, len(table.Columns))
		for j, c := range table.Columns {
			values[j] = c.Of(&rows[i])
		}
		table.Rows = append(table.Rows, values)
	}
	return table, problems
}

// WriteCSV writes the table with a header line. Unknown values are empty; times are RFC 3339 in
// UTC.
func WriteCSV(w io.Writer, table *Table) error { return result.WriteCSV(w, table.Columns, table.Rows) }
