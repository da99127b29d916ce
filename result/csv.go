package result

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jszwec/csvutil"

	"nines.dev/nines/terminal"
)

// writeOutliers writes causes as any text of a CSV file: they have names of threads, which these
// choose themselves.
func writeOutliers(w io.Writer, outliers []Outlier) error {
	rows := slices.Clone(outliers)
	for i := range rows {
		rows[i].Cause = CSVText(rows[i].Cause)
	}
	return writeRows(w, "json", rows)
}

func readOutliers(r io.Reader) ([]Outlier, error) { return readRows[Outlier](r, "json") }

func writeRates(w io.Writer, rates []Rate) error { return writeRows(w, "csv", rates) }

func readRates(r io.Reader) ([]Rate, error) { return readRows[Rate](r, "csv") }

// writeRows writes the columns named by the fields' tags, with a header even if there are no rows.
func writeRows[T any](w io.Writer, tag string, rows []T) error {
	out := csv.NewWriter(w)
	encoder := csvutil.NewEncoder(out)
	encoder.Tag, encoder.AutoHeader = tag, false
	if err := encoder.EncodeHeader(*new(T)); err != nil {
		return err
	}
	if err := encoder.Encode(rows); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// readRows skips columns that a newer version may have added.
func readRows[T any](r io.Reader, tag string) ([]T, error) {
	in, err := csvutil.NewDecoder(csv.NewReader(r))
	if err != nil {
		return nil, fmt.Errorf("no header line: %w", err)
	}
	in.Tag, in.DisallowMissingColumns = tag, true
	rows := []T{}
	if err := in.Decode(&rows); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return rows, nil
}

// WriteSummaryCSV writes one row per trial. Each variable has a column under its key; units are in
// the names; null becomes empty.
func WriteSummaryCSV(w io.Writer, trials []Trial) error {
	list := slices.Concat(Columns(InSummary), searchColumns)
	list = WithVariables(trials, list)
	if !slices.ContainsFunc(trials, func(t Trial) bool { return t.Search != "" }) {
		list = list[:len(list)-len(searchColumns)]
	}
	rows := make([][]any, len(trials))
	for i := range trials {
		for _, c := range list {
			value := c.Of(&Row{Trial: &trials[i]})
			if mean, ok := value.(float64); ok && strings.HasSuffix(c.Name, "_mean_ns") {
				value = strconv.FormatFloat(mean, 'f', 3, 64)
			}
			rows[i] = append(rows[i], value)
		}
	}
	return WriteCSV(w, list, rows)
}

// CSVText is a cell's text as a CSV file may have it. Names in a result may be someone else's, and
// spreadsheets run a cell as a formula if it begins with one of these characters (OWASP, "CSV
// Injection"): it gets a quote in front, which they do not show. Numbers stay as they are. What a
// terminal would act on becomes a question mark, but for line breaks, which RFC 4180 lets a quoted cell
// have.
func CSVText(text string) string {
	if text == "" {
		return text
	}
	if strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			text = "'" + text
		}
	}
	return terminal.PlainLines(text)
}

// WriteCSV writes rows with a header line: unknown values are empty, times are RFC 3339.
func WriteCSV(w io.Writer, list []Column, rows [][]any) error {
	out := csv.NewWriter(w)
	fields := make([]string, len(list))
	for i, c := range list {
		fields[i] = CSVText(c.Name)
	}
	if err := out.Write(fields); err != nil {
		return err
	}
	for _, row := range rows {
		for i, value := range row {
			if at, ok := value.(time.Time); ok {
				value = at.Format(time.RFC3339Nano)
			}
			fields[i] = CSVText(FormatVariable(value))
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
