package measure

import (
	"strings"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

func TestALoopWithoutALabIsJudgedAsOthers(t *testing.T) {
	stream := spec.Traffic{RatePPS: 100, FrameBytes: 64, Duration: spec.Duration(time.Second)}
	whole := client.TrialResult{
		Counts: client.Counts{IntendedPackets: 100, TxPackets: 100, RxPackets: 100}, MeasuredStartNs: 50, EndNs: 50 + 1e9, CPU: 1,
		SendLag: samples(100), Spacing: samples(99), Latency: samples(100), FromTx: samples(100),
		TSC: client.TSC{Constant: true, Nonstop: true},
	}
	r, err := RecordLoop(whole, stream)
	if err != nil {
		t.Fatal(err)
	}
	if r.Trial.Verdict != result.Clean || r.Details.Role != "loop" || r.Histograms.Latency.Count() != 100 {
		t.Errorf("%+v %+v", r.Trial, r.Details)
	}
	late := whole
	late.TxPackets, late.RxPackets = 90, 90
	if r, err = RecordLoop(late, stream); err != nil {
		t.Fatal(err)
	}
	if r.Trial.Verdict != result.Invalid || !strings.Contains(r.Trial.Reasons[0], "offered 90 of 100") {
		t.Errorf("%+v", r.Trial)
	}
}
