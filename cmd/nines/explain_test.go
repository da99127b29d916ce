package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/report/explain"
	"nines.dev/nines/result"
)

// writeTraced makes a result whose second trial was traced: a thread had the CPU for 1 ms,
// which made packet 7 late. All of it is made up.
func writeTraced(t *testing.T) string {
	t.Helper()
	w, err := result.Create(t.TempDir(), "traced", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for repeat := 1; repeat <= 2; repeat++ {
		r := result.Record{Trial: result.Trial{Repeat: repeat, OfferedPPS: 1, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
			Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}}
		r.Histograms.Latency.Record(1_000_000)
		r.Histograms.FromTx.Record(1000)
		r.Histograms.SendLag.Record(999_000)
		if repeat == 2 {
			r.Outliers = []result.Outlier{{ID: 7, Stream: 1, LatencyNs: 1_000_000, SendLagNs: 999_000, FromTxNs: 1000, IntendedNs: 0, TxNs: 999_000, RxNs: 1_000_000}}
			r.Events = []result.Event{
				{Kind: result.EventThread, Name: "nines-measure", TID: 5, BeginNs: 900, EndNs: 1000, Preempted: true, Other: -1},
				{Kind: result.EventThread, Name: "make", TID: 9, BeginNs: 1000, EndNs: 1_000_000, State: "S", Other: -1},
				{Kind: result.EventThread, Name: "nines-measure", TID: 5, BeginNs: 1_000_000, EndNs: 2_000_000, Other: -1},
			}
			r.Ordinary = []result.Outlier{}
			cost := int64(2_000_000)
			r.Details.StartedNs, r.Details.DurationNs = 1000, 1_000_000
			r.Details.Trace = &result.Trace{Stretches: [][2]int64{{0, 3_000_000}}, Events: 4000, Kept: 3, Lost: 5, CostNs: &cost, ElapsedNs: 8_000_000,
				Threads: []result.TracedThread{{Role: result.RoleSender, TID: 5, Spins: true}}}
		}
		if _, err := w.AddTrial(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

func TestExplain(t *testing.T) {
	dir := writeTraced(t)
	code, out, errOut := call("explain", dir, "--format", "json")
	if code != 0 {
		t.Fatalf("%d: %s", code, errOut)
	}
	var shown explain.Shown
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Trial != "0002" || len(shown.Causes.Ranking) == 0 || shown.Causes.Ranking[0].Cause.Name != "make" || shown.Causes.Ranking[0].Remedy == "" {
		t.Errorf("%s", out)
	}
	if r := shown.Recorder; r.Events != 4000 || shown.LostEvents != 5 || r.Share == nil || *r.Share != 0.25 || r.PacketNs == nil || r.Against != nil {
		t.Errorf("the recorder is %+v, and lost %d", r, shown.LostEvents)
	}
	if code, out, _ := call("explain", dir, "--packet", "7"); code != 0 || !strings.Contains(out, "the thread `make`") || !strings.Contains(out, "send wait") {
		t.Errorf("%d: %s", code, out)
	}
}

func TestExplainRefuses(t *testing.T) {
	traced, untraced := writeTraced(t), writeResult(t, "veth")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{untraced}, 1, "add 'trace: true'"},
		{[]string{traced, "--trial", "0001"}, 1, "trial 0001 was not traced"},
		{[]string{traced, "--trial", "0009"}, 2, "it has 0001, 0002"},
		{[]string{traced, "--packet", "8"}, 2, "not among the 1 slowest"},
		{[]string{traced, "--packet", "x"}, 2, "write a packet's id"},
		{[]string{traced, "--worst", "-1"}, 2, "--worst -1"},
		{[]string{traced, "--format", "xml"}, 2, "xml"},
		{[]string{traced, traced}, 2, "one result folder"},
	} {
		code, _, errOut := call(append([]string{"explain"}, c.args...)...)
		if code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: exit code %d, want %d; %q should say %q", c.args[1:], code, c.code, errOut, c.says)
		}
	}
}
