package report

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
	"nines.dev/nines/test/golden"
)

func of(v int64) *int64 { return &v }

// trial makes a trial's summary; a negative p99_99 means unsupported.
func trial(id, kind string, rate float64, repeat int, p50, p99, p9999, maximum int64) result.Trial {
	t := result.Trial{ID: id, Variables: map[string]any{"links.*.kind": kind, "traffic.rate_pps": rate}, Repeat: repeat,
		OfferedPPS: rate, TxPackets: uint64(rate) * 10, RxPackets: uint64(rate)*10 - 3, LostPackets: 3, Verdict: result.Clean,
		Latency: result.Percentiles{Min: of(p50 / 2), P50: of(p50), P90: of(p50 * 2), P99: of(p99), P999: of(p99 * 2), Max: of(maximum)}}
	if p9999 >= 0 {
		t.Latency.P9999 = of(p9999)
	}
	return t
}

func tableSummary() result.Summary {
	noisy := trial("0002", "veth", 100000, 2, 7100, 23000, 90000, 1912345)
	noisy.Verdict, noisy.Reasons = result.Noisy, []string{"the hypervisor took 12.5ms from the measuring CPUs"}
	noisier := trial("0003", "veth", 100000, 3, 7300, 41000, 95000, 1112345)
	noisier.Verdict, noisier.Reasons = result.Noisy, []string{"the hypervisor took 99ms from the measuring CPUs"}
	invalid := trial("0006", "bridge", 1000, 3, 907000, 5100000, -1, 9999999)
	invalid.Verdict, invalid.Reasons = result.Invalid, []string{"offered 800 of 1000 intended packets (80.00 %): the generator or its interface is too slow for this rate"}
	return result.Summary{Schema: result.Schema, Name: "quick\x1b[31mstart", Started: time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC),
		Trials: []result.Trial{
			trial("0001", "veth", 100000, 1, 6900, 21000, 85000, 812345), trial("0004", "bridge", 1000, 1, 9000, 50000, -1, 99999),
			noisy, trial("0005", "bridge", 1000, 2, 9200, 52000, -1, 104999), noisier, invalid}}
}

func TestTableIsAsDrawn(t *testing.T) {
	for name, options := range map[string]TableOptions{"table.txt": {}, "table_repeats.txt": {Repeats: true}} {
		var out strings.Builder
		if err := WriteTable(&out, tableSummary(), options); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, filepath.Join("testdata", name), out.String())
		for _, line := range strings.Split(out.String(), "\n") {
			if width := utf8.RuneCountInString(line); width > 100 {
				t.Errorf("%s: a line has %d columns: %s", name, width, line)
			}
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s has an escape sequence, but is no terminal", name)
		}
	}
}

func TestTableOfNothingSaysSo(t *testing.T) {
	var out strings.Builder
	if err := WriteTable(&out, result.Summary{Name: "x"}, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "No trial was finished") {
		t.Error(out.String())
	}
}

func TestColourOnlyMarksUp(t *testing.T) {
	var plainOut, painted strings.Builder
	table := trialTable(tableSummary(), Groups(tableSummary().Trials), 3, TableOptions{})
	for out, style := range map[*strings.Builder]terminal.Style{&plainOut: {}, &painted: {Colour: true}} {
		if err := table.Write(out, style); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(painted.String(), "\x1b[31minvalid 1/3\x1b[0m") {
		t.Errorf("no red verdict in %q", painted.String())
	}
	stripped := painted.String()
	for _, code := range []string{terminal.Bold, terminal.Dim, terminal.Red, terminal.Green, terminal.Yellow, "0"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	trim := func(s string) string {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(plainOut.String(), trim(stripped)); diff != "" {
		t.Error(diff)
	}
}

func TestTableJSONHasMediansAndNulls(t *testing.T) {
	var out strings.Builder
	if err := WriteTableJSON(&out, tableSummary(), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema string
		Groups []struct {
			Trials   []string
			Counted  int
			Verdicts map[string]int
			Figures  map[string]*Spread
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	bridge := got.Groups[1]
	if bridge.Counted != 2 || bridge.Verdicts["invalid"] != 1 || len(bridge.Trials) != 3 {
		t.Errorf("bridge: %+v", bridge)
	}
	if diff := cmp.Diff(&Spread{Median: 9100, Min: 9000, Max: 9200, Interval: &Interval{Low: 9000, High: 9200}}, bridge.Figures["latency_p50_ns"]); diff != "" {
		t.Errorf("an invalid trial counts, or the median is wrong: %s", diff)
	}
	if value, ok := bridge.Figures["latency_p99_99_ns"]; !ok || value != nil {
		t.Errorf("an unsupported percentile is %v, %v; want null", value, ok)
	}
}

// TestAGroupOfInvalidTrialsHasNoMedian: they did not do what was asked of them. Figures draw them, marked.
func TestAGroupOfInvalidTrialsHasNoMedian(t *testing.T) {
	only := trial("1", "veth", 1000, 1, 5000, 6000, -1, 7000)
	only.Verdict = result.Invalid
	groups := Groups([]result.Trial{only})
	if values, ok := groups[0].Values(LatencyFigure("p50")); ok {
		t.Errorf("values %v", values)
	}
	if drawn := groups[0].Drawn(); len(drawn) != 1 || !groups[0].Invalid() {
		t.Errorf("drawn: %v, invalid: %v", drawn, groups[0].Invalid())
	}
	if cell := verdictCell(groups[0]); cell.Text != "invalid" || cell.Colour != terminal.Red {
		t.Errorf("verdict %+v", cell)
	}
}

func TestShortNamesStayDistinct(t *testing.T) {
	got := shortNames([]string{"links.*.kind", "traffic.rate_pps", "nodes.dut.app.kind", "kind"})
	want := map[string]string{"links.*.kind": "*.kind", "traffic.rate_pps": "rate_pps", "nodes.dut.app.kind": "app.kind", "kind": "kind"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
