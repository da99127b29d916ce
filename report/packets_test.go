package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// packetResult has a trial with metrics, one whose recording is not complete, and one
// without any.
func packetResult(t *testing.T) *result.Result {
	t.Helper()
	w, err := result.Create(t.TempDir(), "packets", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
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
	with.Details.Recording = &result.Recording{Packets: 1007, Complete: true}
	part.Details.Recording = &result.Recording{Problems: []string{"the record of packets sent lacks 9: the disk is too slow for it"}}
	for _, rec := range []result.Record{with, part, base} {
		if _, err := w.AddTrial(rec); err != nil {
			t.Fatal(err)
		}
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
