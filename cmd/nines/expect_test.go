package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// writeExpecting writes a result of one trial with time blocks, whose latencies are 5 to 6 µs, and with its file.
func writeExpecting(t *testing.T, file string) string { return writeMeasured(t, file, "veth") }

// writeMeasured is writeExpecting with a kind of link.
func writeMeasured(t *testing.T, file, kind string) string {
	t.Helper()
	w, err := result.Create(t.TempDir(), "expecting", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	r := result.Record{Trial: result.Trial{Variables: map[string]any{"links.*.kind": kind}, Repeat: 1, OfferedPPS: 10000, TxPackets: 10000, RxPackets: 10000, Verdict: result.Clean},
		Details: result.Details{DurationNs: int64(time.Second)}, Blocks: &result.Blocks{Length: 10 * time.Millisecond},
		Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}}
	for range 100 {
		block := result.NewHistogram()
		for packet := range 100 {
			block.Record(int64(5000 + 10*packet))
			r.Histograms.FromTx.Record(5000)
			r.Histograms.SendLag.Record(0)
		}
		r.Histograms.Latency.Merge(block)
		r.Blocks.Counts = append(r.Blocks.Counts, block.Packed())
	}
	path := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddTrial(r); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.WriteExperiment([]byte(file), path), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return w.Dir()
}

const expectingFile = `name: expecting
topology:
  nodes: {a: , b: }
  links: [{name: w, endpoints: ["a:x", "b:x"]}]
traffic: {from: "a:x", to: "b:x", rate_pps: 10000}
sweep: {links.*.kind: [veth]}
expect:
  - p99 < 7us
  - p50 < 5us where kind=veth
`

func TestExpectVerb(t *testing.T) {
	dir := writeExpecting(t, expectingFile)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exit.Violated, "1 of 2 expectations holds, 1 is violated"},
		{[]string{"--that", "p99 < 7us", "--that", "loss == 0"}, exit.Done, "all 2 expectations hold"},
		{[]string{"--that", "p99.999 < 7us"}, exit.Undecided, "too few for p99.999; it would take about 40 times the traffic"},
		{[]string{"--that", "p50 < 5us", "--that", "p99.999 < 7us"}, exit.Violated, "1 is violated, 1 is undecided"},
		{[]string{"--that", "p99 <= reference.p99", "--reference", dir}, exit.Undecided, "a drift of the host cannot be told"},
		{[]string{"--that", "p99 <= reference.p99"}, exit.Wrong, "--reference DIR"},
		{[]string{"--that", "p99 <= reference.p99", "--reference", dir + "-none"}, exit.Wrong, "there is no such folder"},
		{[]string{"--that", "p9x < 7us"}, exit.Wrong, `did you mean "p90"?`},
		{[]string{"--that", "b.p99 < a.p99"}, exit.Wrong, "is no duet"},
		{[]string{"--that", "p99 < 7us", "--from", "lab.yaml"}, exit.Wrong, "give one of them"},
		{[]string{"--annotations", "gitlab"}, exit.Wrong, "allowed: github"},
	} {
		code, stdout, stderr := call(append([]string{"expect", dir}, c.args...)...)
		if text := strings.Join(strings.Fields(stdout+stderr), " "); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%q: code %d\n%s\n%s", c.args, code, stdout, stderr)
		}
	}
	if code, _, stderr := call("expect", writeResult(t, "veth"), "--that", "p99 < 7us"); code != exit.Undecided {
		t.Errorf("without time blocks: code %d, %s", code, stderr)
	}
	if code, _, stderr := call("expect", writeExpecting(t, strings.Split(expectingFile, "expect:")[0])); code != exit.Wrong || !strings.Contains(stderr, "expects nothing") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// The decisions go where pages of CI read them; a summary is added to what is there.
func TestExpectWritesForCI(t *testing.T) {
	dir, out := writeExpecting(t, expectingFile), t.TempDir()
	junit, markdown := filepath.Join(out, "e.xml"), filepath.Join(out, "e.md")
	for range 2 {
		if code, _, stderr := call("expect", dir, "--junit", junit, "--markdown", markdown, "--annotations", "github"); code != exit.Violated ||
			!strings.Contains(stderr, "lab.yaml,line=9,col=5,title=p50 < 5us where kind=veth::") {
			t.Errorf("code %d, %s", code, stderr)
		}
	}
	for path, want := range map[string][2]any{junit: {`failures="1"`, 2}, markdown: {"❌ violated", 2}} {
		text, err := os.ReadFile(path)
		if err != nil || strings.Count(string(text), want[0].(string)) != want[1] {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
	_, stdout, _ := call("expect", dir, "--format", "json")
	var document struct{ Schema, Decision string }
	if err := json.Unmarshal([]byte(stdout), &document); err != nil || document.Schema != "nines/expectations/v1" || document.Decision != "violated" {
		t.Errorf("%v: %s", err, stdout)
	}
}

func TestCompareHasAnExitCode(t *testing.T) {
	same, other := writeRepeats(t, 6, "veth", "bridge"), writeRepeats(t, 6, "bridge", "veth")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{same, same, "--exit-code"}, exit.Done},
		{[]string{same, other, "--exit-code"}, exit.Undecided}, // of two times
		{[]string{same, other, "--steady", "--exit-code"}, exit.Violated},
		{[]string{same, other, "--steady"}, exit.Done},
		{[]string{same, "--by", "kind=veth,bridge", "--exit-code"}, exit.Violated},
		{[]string{same, writeRepeats(t, 6, "xdp"), "--steady", "--exit-code"}, exit.Undecided}, // nothing matches
		{[]string{same, other, "--again", "--exit-code"}, exit.Wrong},
	} {
		if code, stdout, stderr := call(append([]string{"compare"}, c.args...)...); code != c.code {
			t.Errorf("%q: code %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
	}
}

// The page of a result begins with the decisions on what its file expects.
func TestThePageHasTheDecisions(t *testing.T) {
	page := filepath.Join(t.TempDir(), "report.html")
	if code, _, stderr := call("report", writeExpecting(t, expectingFile), "--out", page); code != exit.Done {
		t.Fatalf("code %d, %s", code, stderr)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "<h2>p99 &lt; 7us: holds</h2>") || !strings.Contains(string(text), "where kind=veth: violated</h2>") {
		t.Errorf("%v, %.2000s", err, text)
	}
}
