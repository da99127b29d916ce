package result

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

var (
	outlierColumns = []string{"id", "stream", "latency_ns", "from_tx_ns", "send_lag_ns", "intended_ns",
		"tx_ns", "rx_ns", "poll_gap_ns", "tx_cpu", "rx_cpu", "cause"}
	rateColumns = []string{"second", "offered_packets", "sent_packets", "received_packets"}
)

func writeOutliers(w io.Writer, outliers []Outlier) error {
	out := csv.NewWriter(w)
	rows := make([][]string, 0, len(outliers)+1)
	rows = append(rows, outlierColumns)
	for _, o := range outliers {
		rows = append(rows, []string{
			strconv.FormatUint(uint64(o.ID), 10), strconv.Itoa(int(o.Stream)),
			decimal(o.LatencyNs), decimal(o.FromTxNs), decimal(o.SendLagNs), decimal(o.IntendedNs),
			decimal(o.TxNs), decimal(o.RxNs), decimal(o.PollGapNs),
			strconv.Itoa(o.TxCPU), strconv.Itoa(o.RxCPU), o.Cause,
		})
	}
	return out.WriteAll(rows)
}

func readOutliers(r io.Reader) ([]Outlier, error) {
	rows, err := readRows(r, outlierColumns)
	if err != nil {
		return nil, err
	}
	outliers := make([]Outlier, 0, len(rows))
	for _, row := range rows {
		var v [11]int64
		for i := range v {
			if v[i], err = row.integer(i); err != nil {
				return nil, err
			}
		}
		outliers = append(outliers, Outlier{ID: uint32(v[0]), Stream: uint8(v[1]), LatencyNs: v[2], FromTxNs: v[3],
			SendLagNs: v[4], IntendedNs: v[5], TxNs: v[6], RxNs: v[7], PollGapNs: v[8],
			TxCPU: int(v[9]), RxCPU: int(v[10]), Cause: row.fields[11]})
	}
	return outliers, nil
}

func writeRates(w io.Writer, rates []Rate) error {
	out := csv.NewWriter(w)
	rows := make([][]string, 0, len(rates)+1)
	rows = append(rows, rateColumns)
	for _, r := range rates {
		rows = append(rows, []string{strconv.Itoa(r.Second), strconv.FormatUint(r.Offered, 10),
			strconv.FormatUint(r.Sent, 10), strconv.FormatUint(r.Received, 10)})
	}
	return out.WriteAll(rows)
}

func readRates(r io.Reader) ([]Rate, error) {
	rows, err := readRows(r, rateColumns)
	if err != nil {
		return nil, err
	}
	rates := make([]Rate, 0, len(rows))
	for _, row := range rows {
		var v [4]int64
		for i := range v {
			if v[i], err = row.integer(i); err != nil {
				return nil, err
			}
		}
		rates = append(rates, Rate{Second: int(v[0]), Offered: uint64(v[1]), Sent: uint64(v[2]), Received: uint64(v[3])})
	}
	return rates, nil
}

// WriteSummaryCSV writes one row a trial. The variables have a column each under
// their own key; units are in the names; what is null is empty.
func WriteSummaryCSV(w io.Writer, trials []Trial) error {
	variables := VariableNames(trials)
	header := []string{"id"}
	for _, name := range variables {
		header = append(header, variableColumn(name))
	}
	header = append(header, countColumns...)
	for _, prefix := range []string{"latency", "from_tx", "send_lag"} {
		header = append(header, prefix+"_min_ns", prefix+"_mean_ns")
		for _, p := range NamedPercentiles() {
			header = append(header, prefix+"_"+p.Name+"_ns")
		}
		header = append(header, prefix+"_max_ns", prefix+"_count")
	}
	header = append(header, "verdict", "reasons")
	searched := slices.ContainsFunc(trials, func(t Trial) bool { return t.Search != "" })
	if searched {
		header = append(header, searchColumns...)
	}

	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for _, t := range trials {
		row := []string{t.ID}
		for _, name := range variables {
			row = append(row, FormatVariable(t.Variables[name]))
		}
		row = append(row, strconv.Itoa(t.Repeat), strconv.FormatFloat(t.OfferedPPS, 'f', -1, 64))
		for _, n := range []uint64{t.TxPackets, t.RxPackets, t.LostPackets, t.DuplicatePackets, t.ReorderedPackets} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		for _, p := range []Percentiles{t.Latency, t.FromTx, t.SendLag} {
			row = append(row, optional(p.Min))
			if p.Mean == nil {
				row = append(row, "")
			} else {
				row = append(row, strconv.FormatFloat(*p.Mean, 'f', 3, 64))
			}
			for _, named := range NamedPercentiles() {
				row = append(row, optional(named.Of(p)))
			}
			row = append(row, optional(p.Max), strconv.FormatUint(p.Count, 10))
		}
		row = append(row, string(t.Verdict), strings.Join(t.Reasons, "; "))
		if searched {
			row = append(row, t.Search, t.Purpose)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

var countColumns = []string{"repeat", "offered_pps", "tx_packets", "rx_packets", "lost_packets",
	"duplicate_packets", "reordered_packets"}

// searchColumns are there where trials belong to searches.
var searchColumns = []string{"search", "purpose"}

// variableColumn keeps a variable's name, unless a column of the trial's own has
// it: the file key "repeat" can be swept as well.
func variableColumn(name string) string {
	for _, taken := range slices.Concat([]string{"id", "verdict", "reasons"}, countColumns, searchColumns) {
		if name == taken {
			return "variable_" + name
		}
	}
	return name
}

// VariableNames are the swept keys of all trials in the order of the sweep, whose last
// key varies fastest: the later a key first has another value, the earlier it is. Keys
// that cannot be told apart so are sorted.
func VariableNames(trials []Trial) []string {
	seen := map[string]bool{}
	names := []string{}
	for _, t := range trials {
		for name := range t.Variables {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	changes := make(map[string]int, len(names))
	for _, name := range names {
		first := FormatVariable(trials[0].Variables[name])
		changes[name] = slices.IndexFunc(trials, func(t Trial) bool { return FormatVariable(t.Variables[name]) != first })
		if changes[name] < 0 {
			changes[name] = len(trials)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(changes[b], changes[a]), cmp.Compare(a, b))
	})
	return names
}

// FormatVariable is a variable's value as text: 10000, not 1e+04; nil is empty.
func FormatVariable(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32)
	case bool, int, int64, uint64, uint, int32, uint32:
		return fmt.Sprint(v)
	}
	if text, ok := v.(fmt.Stringer); ok {
		return text.String()
	}
	if kind := reflect.ValueOf(v); kind.Kind() == reflect.String { // such as spec.LinkKind
		return kind.String()
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(encoded)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return decimal(*n)
}

// csvRow is a row of a file with known columns.
type csvRow struct {
	line   int
	fields []string
}

func (r csvRow) integer(column int) (int64, error) {
	n, err := strconv.ParseInt(r.fields[column], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("line %d, column %d: %q is not a whole number", r.line, column+1, r.fields[column])
	}
	return n, nil
}

// readRows reads all rows and puts their fields in the order of columns. Columns
// that a newer version may have added are passed over.
func readRows(r io.Reader, columns []string) ([]csvRow, error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("no header line: %w", err)
	}
	at := map[string]int{}
	for i, name := range header {
		at[name] = i
	}
	for _, name := range columns {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("the column %s is missing", name)
		}
	}
	var rows []csvRow
	for {
		record, err := in.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		row := csvRow{line: line, fields: make([]string, len(columns))}
		for i, name := range columns {
			row.fields[i] = record[at[name]]
		}
		rows = append(rows, row)
	}
}
