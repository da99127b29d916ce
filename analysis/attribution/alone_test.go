package attribution

import (
	"testing"

	"nines.dev/nines/result"
)

// A program's thread that neither sends nor receives packets: its wait is explained too, even
// though there are no ordinary packets to compare with.
func TestAThreadThatIsAloneIsAskedFor(t *testing.T) {
	thread := func(begin, end int64, name string, tid int32, preempted bool) result.Event {
		return result.Event{BeginNs: begin, EndNs: end, CPU: 1, Kind: result.EventThread, Name: name, TID: tid, Other: -1, Preempted: preempted}
	}
	causes := Attribute(Input{
		Slow: []result.Outlier{{ID: 1, LatencyNs: 40_000, SendLagNs: 40_000, IntendedNs: 10_000, TxNs: 50_000, RxNs: 50_000, TxCPU: 1, RxCPU: 1}},
		Events: []result.Event{thread(1_000_000, 1_010_000, "mine", 7, true), thread(1_010_000, 1_050_000, "hog", 9, true),
			thread(1_050_000, 1_060_000, "mine", 7, false)},
		Details: result.Details{StartedNs: 1_000_000, Trace: &result.Trace{
			Threads:   []result.TracedThread{{Role: result.RoleProgram, Name: "mine", TID: 7, CPU: -1}},
			Stretches: [][2]int64{{1_000_000, 1_100_000}}}},
	})
	if len(causes.Ranking) != 1 || causes.Ranking[0].Cause != (result.Cause{Kind: Hog, Name: "hog", CPU: 1}) || causes.Ranking[0].TotalNs != 40_000 {
		t.Errorf("%+v", causes.Ranking)
	}
	if len(causes.Notes) != 0 {
		t.Errorf("notes: %q", causes.Notes)
	}
}
