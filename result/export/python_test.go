package export

import (
	"bytes"
	"fmt"
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

// python runs a script on a file and returns its output.
func python(t *testing.T, script string, args []string, modules ...string) string {
	t.Helper()
	out, err := exec.Command(labtest.Python(t, modules...), append([]string{"-c", script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// DuckDB reads from the Parquet file what the CSV file has, column by column.
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
	kinds := map[result.Kind]string{result.KindText: "VARCHAR", result.KindInteger: "BIGINT", result.KindReal: "DOUBLE", result.KindBoolean: "BOOLEAN", result.KindTime: "TIMESTAMPTZ_NS"}
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
	if want := strings.TrimSpace(strings.Join([]string{fmt.Sprint(4*len(whole.Columns)) + " compared", "[(Decimal('4'), 10499.5)]"}, "\n")); !sameButForTypes(got, want) {
		t.Errorf("DuckDB reads\n%s\nwant\n%s", got, want)
	}
}

// sameButForTypes: a sum is an int or a Decimal, depending on the version.
func sameButForTypes(got, want string) bool {
	plain := strings.NewReplacer("Decimal('", "", "')", "")
	return plain.Replace(got) == plain.Replace(want)
}

// bucketTop is the largest value in the same bucket of an HdrHistogram with three significant
// digits: its buckets are powers of two, cut into 1,024 or more.
func bucketTop(ns int64) int {
	width := int64(1)
	for ns/width >= 2048 {
		width *= 2
	}
	return int(ns/width*width + width - 1)
}

// HdrHistogram's own package reads the log: every interval at its time, with every packet.
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
		return fmt.Sprint(int(started.Add(time.Duration(minutes)*time.Minute).UnixMilli()) + 123)
	}
	line := func(kind, rest string, minutes int, text string) string {
		return "latency;links.*.kind=" + kind + ";" + rest + " " + at(minutes) + " " + text
	}
	quoted := `bridge__"quoted"`
	alone := func(n int) string {
		return "1500 1000 " + fmt.Sprint(bucketTop(latencyOf(n, packets/2-1))) + " " + fmt.Sprint(bucketTop(latencyOf(n, packets-1)))
	}
	want := []string{line("veth", veth, 0, alone(0)), line(quoted, bridge, 1, alone(1)), line("veth", veth, 2, alone(2)), line(quoted, bridge, 3, alone(3))}
	if diff := cmp.Diff(want, strings.Split(read(HlogOptions{Series: []string{result.TagLatency}}), "\n")); diff != "" {
		t.Errorf("each trial (-want +got):\n%s", diff)
	}
	both := func(n int) string { // half of the samples are those of the first
		return "121500 2000 " + fmt.Sprint(bucketTop(latencyOf(n, packets-1))) + " " + fmt.Sprint(bucketTop(latencyOf(n+2, packets-1)))
	}
	want = []string{line("veth", veth, 0, both(0)), line(quoted, bridge, 1, both(1))}
	if diff := cmp.Diff(want, strings.Split(read(HlogOptions{Series: []string{result.TagLatency}, Merge: true}), "\n")); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	block := func(n, from int) string {
		return "500 500 " + fmt.Sprint(bucketTop(latencyOf(n, from+packets/4-1))) + " " + fmt.Sprint(bucketTop(latencyOf(n, from+packets/2-1)))
	}
	got := strings.Split(read(HlogOptions{Series: []string{result.TagLatency}, Blocks: true}), "\n")
	if len(got) != 8 || got[0] != line("veth", veth, 0, block(0, 0)) || !strings.HasSuffix(got[2], " "+block(0, packets/2)) || got[6] != line("veth", veth, 2, alone(2)) {
		t.Errorf("in time blocks:\n%s", strings.Join(got, "\n"))
	}
	if got := len(strings.Split(read(HlogOptions{}), "\n")); got != 12 {
		t.Errorf("%d intervals of all series, want 12", got)
	}
}

// CSIT's string is what its readers expect: whole microseconds, and a histogram that HdrHistogram's
// own package decodes.
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
