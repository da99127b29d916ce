package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// packetResult has a trial with metrics, one with an incomplete recording, and one without any.
func packetResult(t *testing.T) *result.Result {
	t.Helper()
	h := result.NewHistogram()
	for range 1000 {
		h.Record(5000)
	}
	base := result.Record{
		Trial:      result.Trial{Repeat: 1, TxPackets: 1007, RxPackets: 1000, LostPackets: 7, Verdict: result.Clean},
		Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h},
	}
	with, part := base, base
	p99, p999, ipdv := int64(12_340), int64(56_780), int64(900)
	with.Metrics = &result.Metrics{All: result.FlowMetrics{
		Sent: 1007, Received: 1000, Lost: 7, Duplicates: 3,
		PDV: result.Percentiles{P99: &p99, P999: &p999}, IPDV: result.Percentiles{P99: &ipdv},
		LossRuns:   []result.LossRun{{Length: 1, Count: 2}, {Length: 5, Count: 1}},
		Reordering: result.Reordering{Reordered: 11, ExtentMax: 4},
	}}
	for range 100 {
		with.Metrics.Flows = append(with.Metrics.Flows, result.FlowMetrics{Flow: "source port 7999", Lost: 1})
	}
	with.Details.Recording = &result.Recording{Packets: 1007, Complete: true}
	part.Details.Recording = &result.Recording{Problems: []string{"the record of packets sent lacks 9: the disk is too slow for it"}}
	return resultOf(t, with, part, base)
}

// resultOf is a result of these trials.
func resultOf(t *testing.T, trials ...result.Record) *result.Result {
	t.Helper()
	w, err := result.Create(t.TempDir(), "made up", time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials {
		if len(trial.Trial.Scripts) > 0 {
			if _, err := w.NewTrialScripts(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.AddTrial(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := result.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPacketsAreShownWhereThereAreSome(t *testing.T) {
	r := packetResult(t)
	var out bytes.Buffer
	if err := WritePackets(&out, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	var row []string
	for _, line := range lines {
		if strings.HasPrefix(line, "0001") {
			row = strings.Fields(line)
		}
	}
	if got, want := strings.Join(row, " "), "0001 7 5 3 11 4 12.3 56.8 0.90"; got != want {
		t.Errorf("the row is %q, want %q\n%s", got, want, out.String())
	}
	if !strings.Contains(out.String(), "trial 0002: the record of packets sent lacks 9") {
		t.Errorf("what is missing is not said:\n%s", out.String())
	}

	r.Summary.Trials = r.Summary.Trials[2:]
	out.Reset()
	if err := WritePackets(&out, r); err != nil || out.Len() != 0 {
		t.Errorf("of a trial without packets: %q, %v", out.String(), err)
	}
}

// TestPacketsAreInTheJSONAndOnThePage: with their flows, limited on the page to a readable number.
func TestPacketsAreInTheJSONAndOnThePage(t *testing.T) {
	r := packetResult(t)
	packets, problems := Packets(r)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var out bytes.Buffer
	if err := WriteTableJSON(&out, r.Summary, nil, nil, packets); err != nil {
		t.Fatal(err)
	}
	var document struct{ Packets []TrialPackets }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]TrialPackets{"JSON": document.Packets, "page": onPage(newPageData(r, nil).Packets)} {
		if len(got) != 2 || got[0].Metrics == nil || got[1].Metrics != nil {
			t.Fatalf("%s: %+v", name, got)
		}
		if all := got[0].Metrics.All; got[0].Trial != "0001" || all.Lost != 7 || *all.PDV.P999 != 56_780 || all.Reordering.ExtentMax != 4 {
			t.Errorf("%s: trial %s has %+v", name, got[0].Trial, all)
		}
		if len(got[1].Problems) != 1 || !strings.Contains(got[1].Problems[0], "lacks 9") {
			t.Errorf("%s: %v", name, got[1].Problems)
		}
	}
	if page := newPageData(r, nil).Packets[0]; page.FlowsAll != 100 || len(page.Metrics.Flows) != maxTrialFlows {
		t.Errorf("the page says %d flows, and has %d", page.FlowsAll, len(page.Metrics.Flows))
	}
	if flows := document.Packets[0].Metrics.Flows; len(flows) != 100 || flows[99].Lost != 1 {
		t.Errorf("the JSON has %d flows", len(flows))
	}
}

func onPage(packets []pagePackets) []TrialPackets {
	var all []TrialPackets
	for _, p := range packets {
		all = append(all, p.TrialPackets)
	}
	return all
}
