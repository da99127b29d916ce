package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

var started = time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)

// fixture is a result of four trials: two repeats of two combinations, of which the
// last belongs to a search. Packet i of trial n took (n·5000 + i) ns.
func fixture(t testing.TB) *result.Result {
	t.Helper()
	w, err := result.Create(t.TempDir(), "exported", started)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteExperiment([]byte("name: exported\n")), w.WriteHost(map[string]any{"hostname": "lab1"}), w.WritePlan([]int{1})); err != nil {
		t.Fatal(err)
	}
	var last result.Trial
	for n := range 4 {
		r := result.Record{
			Trial: result.Trial{Repeat: 1 + n/2, OfferedPPS: 1000.5, TxPackets: packets + 2, RxPackets: packets, LostPackets: 2, Verdict: result.Clean,
				Variables: map[string]any{"links.*.kind": []string{"veth", "bridge, \"quoted\""}[n%2], "traffic.rate_pps": 1000 * (n%2 + 1),
					"traffic.load": []any{0.5, 1}[n%2], "traffic.on": n%2 == 0, "verdict": "a key of ours", "mixed": []any{1, "x"}[n%2]}},
			Details: result.Details{Role: "loop", DurationNs: 1_500_000_000, StartedUnixNs: started.Add(time.Duration(n)*time.Minute).UnixNano() + 123_456_789,
				Gaps: []result.GapMeter{{MaxNs: 7, TotalNs: 8, Count: 1}, {MaxNs: 9, TotalNs: 10, Count: 2}}, Drops: []result.Counter{{Name: "a", Count: 3}, {Name: "b", Count: 4}}},
			Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()},
			Outliers:   []result.Outlier{{ID: 7, LatencyNs: 99, TxCPU: -1, RxCPU: 1, Cause: "timer"}},
			Rates:      []result.Rate{{Second: 0, Offered: packets, Sent: packets, Received: packets}},
		}
		if n == 3 {
			r.Trial.Search, r.Trial.Purpose = w.SearchID(), "latency at 50 %"
			r.Trial.Verdict, r.Trial.Reasons = result.Noisy, []string{"steal", "a line\nbroken"}
		}
		for i := range packets {
			r.Histograms.Latency.Record(latencyOf(n, i))
			r.Histograms.FromTx.Record(int64(i))
			r.Histograms.SendLag.Record(0)
		}
		if last, err = w.AddTrial(r); err != nil {
			t.Fatal(err)
		}
	}
	value := 812_000.0
	if _, err := w.AddSearch(result.Search{Repeat: 1, Method: "mlrsearch", Conformant: true, Findings: []result.Finding{{Name: "NDR", Unit: "packets/s", Value: &value}},
		Trials: []result.SearchTrial{{ID: last.ID, Purpose: last.Purpose, RatePPS: 406_000}}}); err != nil {
		t.Fatal(err)
	}
	r, err := result.Open(w.Dir())
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%v, %q", err, r.Problems)
	}
	return r
}

const packets = 1000

func latencyOf(n, i int) int64 { return int64((n+1)*5000 + i) }

func table(t *testing.T, r *result.Result) *Table {
	t.Helper()
	table, problems := NewTable(r, r.Summary.Trials, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return table
}

func TestVariablesKeepTheirTypes(t *testing.T) {
	kinds := map[string]Kind{}
	for _, c := range table(t, fixture(t)).Columns {
		if _, twice := kinds[c.Name]; twice {
			t.Errorf("two columns are called %s", c.Name)
		}
		kinds[c.Name] = c.Kind
	}
	for name, want := range map[string]Kind{"links.*.kind": Text, "traffic.rate_pps": Integer, "traffic.load": Real, "traffic.on": Boolean,
		"variable_verdict": Text, "mixed": Text, "started": Time, "offered_pps": Real, "lost_packets": Integer, "latency_p99_9_ns": Integer} {
		if got, there := kinds[name]; !there || got != want {
			t.Errorf("%s is %d (%v), want %d", name, got, there, want)
		}
	}
}

func TestCSV(t *testing.T) {
	r := fixture(t)
	var out bytes.Buffer
	if err := WriteCSV(&out, table(t, r)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	last := map[string]string{}
	for i, name := range rows[0] {
		last[name] = rows[4][i]
	}
	for name, want := range map[string]string{"result": "exported", "id": "0004", "links.*.kind": `bridge, "quoted"`, "traffic.rate_pps": "2000", "traffic.on": "false",
		"repeat": "2", "search": "0001", "purpose": "latency at 50 %", "offered_pps": "1000.5", "lost_packets": "2", "latency_min_ns": "20000", "latency_mean_ns": "20499.5",
		"latency_p99_99_ns": "", "latency_max_ns": "20999", "verdict": "noisy", "variable_verdict": "a key of ours", "reasons": "steal; a line\nbroken",
		"started": "2026-11-20T18:33:05.123456789Z", "duration_ns": "1500000000", "gap_max_ns": "9", "gap_total_ns": "18", "gap_count": "3", "dropped_packets": "7",
		"frame_bytes": "", "packets_file": ""} {
		if got, there := last[name]; !there || got != want {
			t.Errorf("%s is %q (%v), want %q", name, got, there, want)
		}
	}
}

// python runs a script on a file and gives its output.
func python(t *testing.T, script string, args []string, modules ...string) string {
	t.Helper()
	out, err := exec.Command(labtest.Python(t, modules...), append([]string{"-c", script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// DuckDB reads from the Parquet file what the CSV file says, column by column.
func TestDuckDBReadsParquet(t *testing.T) {
	r, dir := fixture(t), t.TempDir()
	whole := table(t, r)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"t.parquet": func(out *bytes.Buffer) error { return WriteParquet(out, whole) },
		"t.csv":     func(out *bytes.Buffer) error { return WriteCSV(out, whole) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	kinds := map[Kind]string{Text: "VARCHAR", Integer: "BIGINT", Real: "DOUBLE", Boolean: "BOOLEAN", Time: "TIMESTAMPTZ_NS"}
	for _, c := range whole.Columns {
		want = append(want, c.Name+" "+kinds[c.Kind])
	}
	got := python(t, `
import duckdb, sys
for row in duckdb.sql("describe select * from '%s/t.parquet'" % sys.argv[1]).fetchall():
    print(row[0], row[1])`, []string{dir}, "duckdb")
	if diff := cmp.Diff(want, strings.Split(got, "\n")); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	got = python(t, `
import duckdb, sys, csv
parquet = duckdb.sql("select columns(*)::varchar from '%s/t.parquet' order by id" % sys.argv[1])
rows = list(csv.DictReader(open(sys.argv[1] + "/t.csv", newline="")))
compared = 0
for want, got in zip(rows, parquet.fetchall()):
    for name, value in zip(parquet.columns, got):
        text = want[name]
        if name in ("started", "result_started"):
            text, value = text.replace("T", " ").replace("Z", ""), value.replace("+00", "")
        if value is None:
            value = ""
        if name not in ("started", "result_started") and value != text and float(value) != float(text):
            print(name, repr(text), repr(value))
        elif name in ("started", "result_started") and value != text:
            print(name, repr(text), repr(value))
        compared += 1
print(compared, "compared")
print(duckdb.sql("select sum(lost_packets), avg(latency_mean_ns) from '%s/t.parquet' where \"links.*.kind\" = 'veth'" % sys.argv[1]).fetchall())`, []string{dir}, "duckdb")
	if want := strings.TrimSpace(strings.Join([]string{itoa(4*len(whole.Columns)) + " compared", "[(Decimal('4'), 10499.5)]"}, "\n")); !sameButForTypes(got, want) {
		t.Errorf("DuckDB reads\n%s\nwant\n%s", got, want)
	}
}

func itoa(n int) string { return field(int64(n)) }

// sameButForTypes: a sum is an int or a Decimal, from version to version.
func sameButForTypes(got, want string) bool {
	plain := strings.NewReplacer("Decimal('", "", "')", "")
	return plain.Replace(got) == plain.Replace(want)
}

// bucketTop is the largest value that HdrHistogram, at three significant digits, holds
// for the same: its buckets are powers of two, cut into 1,024 or more.
func bucketTop(ns int64) int {
	width := int64(1)
	for ns/width >= 2048 {
		width *= 2
	}
	return int(ns/width*width + width - 1)
}

// HdrHistogram's own package reads the log: every interval at its time, with every
// packet.
func TestHdrHistogramReadsLog(t *testing.T) {
	r := fixture(t)
	read := func(options HlogOptions) string {
		var out bytes.Buffer
		if err := WriteHlog(&out, r, r.Summary.Trials, options, nil); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x.hlog")
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return python(t, `
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reference = HdrHistogram(1, 60000000000, 3)
reader = HistogramLogReader(sys.argv[1], reference)
while True:
    h = reader.get_next_interval_histogram()
    if h is None:
        break
    print(h.get_tag(), round(h.get_start_time_stamp()), round(h.get_end_time_stamp() - h.get_start_time_stamp()), h.get_total_count(), h.get_value_at_percentile(50), h.get_max_value())`,
			[]string{path}, "hdrh.log")
	}
	const (
		veth   = "mixed=1;traffic.load=0.5;traffic.on=true;traffic.rate_pps=1000"
		bridge = "mixed=x;traffic.load=1;traffic.on=false;traffic.rate_pps=2000"
	)
	at := func(minutes int) string {
		return itoa(int(started.Add(time.Duration(minutes)*time.Minute).UnixMilli()) + 123)
	}
	line := func(kind, rest string, minutes int, text string) string {
		return "latency;links.*.kind=" + kind + ";" + rest + " " + at(minutes) + " " + text
	}
	quoted := `bridge__"quoted"`
	alone := func(n int) string {
		return "1500 1000 " + itoa(bucketTop(latencyOf(n, packets/2-1))) + " " + itoa(bucketTop(latencyOf(n, packets-1)))
	}
	want := []string{line("veth", veth, 0, alone(0)), line(quoted, bridge, 1, alone(1)), line("veth", veth, 2, alone(2)), line(quoted, bridge, 3, alone(3))}
	if diff := cmp.Diff(want, strings.Split(read(HlogOptions{Series: []string{result.TagLatency}}), "\n")); diff != "" {
		t.Errorf("each trial (-want +got):\n%s", diff)
	}
	both := func(n int) string { // half of the samples are those of the first
		return "121500 2000 " + itoa(bucketTop(latencyOf(n, packets-1))) + " " + itoa(bucketTop(latencyOf(n+2, packets-1)))
	}
	want = []string{line("veth", veth, 0, both(0)), line(quoted, bridge, 1, both(1))}
	if diff := cmp.Diff(want, strings.Split(read(HlogOptions{Series: []string{result.TagLatency}, Merge: true}), "\n")); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if got := len(strings.Split(read(HlogOptions{}), "\n")); got != 12 {
		t.Errorf("%d intervals of all series, want 12", got)
	}
}

// CSIT's string is what its readers expect: whole microseconds, and a histogram that
// HdrHistogram's own package decodes.
func TestHdrHistogramReadsCSIT(t *testing.T) {
	r := fixture(t)
	var out bytes.Buffer
	if err := WriteCSIT(&out, r, r.Summary.Trials, nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	cells := strings.Split(lines[4], "\t")
	if got := cells[:4]; !cmp.Equal(got, []string{"0004", "forward", "406000", "latency at 50 %"}) {
		t.Errorf("the trial of the search: %q", got)
	}
	latency := strings.SplitN(cells[5], "/", 4)
	if got := latency[:3]; !cmp.Equal(got, []string{"20", "20", "21"}) { // 20,000, 20,499.5 and 20,999 ns
		t.Errorf("min/avg/max: %q", got)
	}
	got := python(t, `
import sys
from hdrh.histogram import HdrHistogram
h = HdrHistogram.decode(sys.argv[1])
print(h.get_total_count(), h.get_min_value(), h.get_value_at_percentile(40), h.get_value_at_percentile(60), h.get_max_value())`, []string{latency[3]}, "hdrh.histogram")
	if got != "1000 20 20 21 21" {
		t.Errorf("the histogram has %s", got)
	}
	if none, err := CSITLatency(result.NewHistogram()); err != nil || none != "-1/-1/-1/" {
		t.Errorf("no packets: %q (%v)", none, err)
	}
	short := result.NewHistogram()
	short.Record(499)
	short.Record(90e9)
	if text, err := CSITLatency(short); err != nil || !strings.HasPrefix(text, "0/45000000/90000000/HISTFAAAA") {
		t.Errorf("from nothing to beyond the range: %q (%v)", text, err)
	}
}

// The document has what the folder has, and says what it lacks.
func TestJSONDocument(t *testing.T) {
	r := fixture(t)
	if err := os.Remove(filepath.Join(r.Dir, "trials", "0002", result.OutliersFile)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var told []int
	if err := WriteJSON(&out, r, r.Summary.Trials, func(done, of int) { told = append(told, done, of) }); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(told, []int{0, 4, 1, 4, 2, 4, 3, 4}) {
		t.Errorf("progress: %v", told)
	}
	var doc struct {
		Schema, Name, Experiment string
		Host                     json.RawMessage
		Trials                   []evidence
		Searches                 []result.Search
		Baselines, Maxima        []evidence
		Problems                 []string
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != DocumentSchema || doc.Name != "exported" || doc.Experiment != "name: exported\n" || !strings.Contains(string(doc.Host), "lab1") || len(doc.Trials) != 4 || len(doc.Searches) != 1 {
		t.Errorf("%+v", doc)
	}
	if len(doc.Problems) != 1 || !strings.Contains(doc.Problems[0], "trials/0002/outliers.csv") {
		t.Errorf("problems: %q", doc.Problems)
	}
	first := doc.Trials[0]
	if first.Details == nil || first.Details.Role != "loop" || len(first.Outliers) != 1 || first.Outliers[0].Cause != "timer" || len(first.Rates) != 1 || len(first.Histograms) != 3 {
		t.Errorf("the first trial: %+v", first)
	}
	var total int64
	for _, pair := range first.Histograms[0].Counts {
		total += pair[1]
	}
	if first.Histograms[0].Series != result.TagLatency || total != packets || first.Latency.Count != packets {
		t.Errorf("its latencies: %d of %s", total, first.Histograms[0].Series)
	}
}

func TestSelect(t *testing.T) {
	r := fixture(t)
	for _, test := range []struct{ ids, want, err string }{
		{"", "0001 0002 0003 0004", ""}, {"0003 2", "0002 0003", ""}, {"2 0002", "0002", ""}, {"9", "", `no trial "9"; the result has 0001, 0002, 0003, 0004`},
		{"../0001", "", "no trial"},
	} {
		selected, err := Select(r, strings.Fields(test.ids))
		var got []string
		for _, trial := range selected {
			got = append(got, trial.ID)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, %v", test.ids, got, err)
		}
	}
}

func TestPackets(t *testing.T) {
	r := fixture(t)
	var out bytes.Buffer
	if err := WritePackets(&out, r, r.Summary.Trials); err == nil || !strings.Contains(err.Error(), "traffic.packets") {
		t.Errorf("without packets: %v", err)
	}
	put := func(id, text string) {
		if err := os.WriteFile(filepath.Join(r.Dir, "trials", id, result.PacketsFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("0002", "PAR1 of the second")
	if err := WritePackets(&out, r, r.Summary.Trials); err != nil || out.String() != "PAR1 of the second" {
		t.Errorf("%q, %v", out.String(), err)
	}
	put("0003", "another")
	if err := WritePackets(&out, r, r.Summary.Trials); err == nil || !strings.Contains(err.Error(), "--trial") {
		t.Errorf("of two trials: %v", err)
	}
	whole := table(t, r)
	at := len(whole.Columns) - 1
	if whole.Columns[at].Name != "packets_file" || whole.Rows[1][at] != "trials/0002/packets.parquet" || whole.Rows[0][at] != nil {
		t.Errorf("the table points to %v", whole.Rows[1][at])
	}
	if err := os.Remove(filepath.Join(r.Dir, "trials", "0003", result.PacketsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(r.Dir, "trials", "0003", result.PacketsFile)); err != nil {
		t.Fatal(err)
	}
	if err := WritePackets(&out, r, r.Summary.Trials[2:3]); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("a link out of the result: %v", err)
	}
}

// TestDocumentNamesEveryColumn: docs/exports.md has every column of the table.
func TestDocumentNamesEveryColumn(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "exports.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range [][]column{identity, counts, verdict, details, metrics} {
		for _, c := range columns {
			if !bytes.Contains(raw, []byte("`"+c.Name+"`")) {
				t.Errorf("%s is not there", c.Name)
			}
		}
	}
}
