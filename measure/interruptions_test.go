package measure

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

func pointer(n int64) *int64 { return &n }

// TestInterruptionsOfAllThreadsAreOnOneClock: a forwarder counts from when it began to list, the ends from their first
// measured packet. What was before the trial or after it is left out.
func TestInterruptionsOfAllThreadsAreOnOneClock(t *testing.T) {
	const started = 1_000_000
	kinds := []client.TurnKind{{Kind: 0, Name: "turn 0", UsualNs: 100, ThresholdNs: pointer(1000), Unlisted: 3, UnlistedNs: 700, SpentNs: 90_000}}
	end := client.TrialResult{
		MeasuredStartNs: started, EndNs: started + 50_000,
		Interruptions: client.Interruptions{Kinds: kinds, Overflow: 2, List: []client.Interruption{
			{BeginNs: -3000, LengthNs: 2000}, {BeginNs: -1000, LengthNs: 5000}, {BeginNs: 20_000, LengthNs: 4000},
		}},
	}
	o := observation{
		outcome: traffic.Outcome{Tx: end, Rx: end, Loop: true}, fromCPU: 2,
		witnessed: witnessed{from: "a", unseen: []string{"link x: its program is not of nines"}, threads: []interrupted{
			{"forward dut", "dut", 1, started - 7000, client.Interruptions{Kinds: kinds, List: []client.Interruption{
				{BeginNs: 10_000, LengthNs: 6000}, {BeginNs: 80_000, LengthNs: 6000},
			}}},
		}},
	}
	var rec result.Record
	keepInterruptions(&rec, o)
	want := []result.Interruption{
		{Thread: "loop", Node: "a", CPU: 2, Kind: "turn 0", BeginNs: -1000, LengthNs: 5000},
		{Thread: "forward dut", Node: "dut", CPU: 1, Kind: "turn 0", BeginNs: 3000, LengthNs: 6000},
		{Thread: "loop", Node: "a", CPU: 2, Kind: "turn 0", BeginNs: 20_000, LengthNs: 4000},
	}
	if !reflect.DeepEqual(rec.Interruptions, want) {
		t.Errorf("rows %+v, want %+v", rec.Interruptions, want)
	}
	summary := &result.Interruptions{Unseen: []string{"link x: its program is not of nines"}, Witnesses: []result.Witness{
		{Thread: "loop", Node: "a", CPU: 2, By: "loop", Count: 2, TotalNs: 9000, ThresholdNs: 1000, UnlistedNs: 700, Overflow: 2},
		{Thread: "forward dut", Node: "dut", CPU: 1, By: "loop", Count: 1, TotalNs: 6000, ThresholdNs: 1000, UnlistedNs: 700},
	}}
	if !reflect.DeepEqual(rec.Trial.Interruptions, summary) {
		t.Errorf("summary %+v, want %+v", rec.Trial.Interruptions, summary)
	}
	if len(rec.Details.Turns) != 2 || rec.Details.Turns[1].Thread != "forward dut" || rec.Details.Turns[1].SpentNs != 90_000 {
		t.Errorf("turns %+v", rec.Details.Turns)
	}
}

// TestTheThresholdIsThatOfNearlyAllTime: rare large turns do not make it large, kinds of which nothing is known not small.
func TestTheThresholdIsThatOfNearlyAllTime(t *testing.T) {
	for _, c := range []struct {
		kinds []client.TurnKind
		want  int64
	}{
		{nil, 0},
		{[]client.TurnKind{{SpentNs: 5}}, 0},
		{[]client.TurnKind{{SpentNs: 96, ThresholdNs: pointer(10)}, {SpentNs: 4, ThresholdNs: pointer(700)}}, 10},
		{[]client.TurnKind{{SpentNs: 6, ThresholdNs: pointer(700)}, {SpentNs: 94, ThresholdNs: pointer(10)}}, 700},
		{[]client.TurnKind{{SpentNs: 100}, {SpentNs: 94, ThresholdNs: pointer(10)}, {SpentNs: 6, ThresholdNs: pointer(20)}}, 20},
	} {
		if got := threshold(c.kinds); got != c.want {
			t.Errorf("%+v: %d, want %d", c.kinds, got, c.want)
		}
	}
}

// TestEveryStopOfAForwarderIsListed stops a forwarder again and again, or takes its CPU, far more often than the longest gaps
// are kept: one that spins tells it itself, of one that sleeps the kernel does. The switch has a witness as well.
//
//	a:tx ──in── dut:in ▸ forward ▸ dut:out ──lan── a:rx
func TestEveryStopOfAForwarderIsListed(t *testing.T) {
	const stop, hog = "kind: stop, period: 10ms, length: 3ms", "kind: spin, period: 10ms, length: 1ms, scheduling: {policy: fifo, priority: 40}"
	for _, c := range []struct{ wait, disturb, by string }{
		{"spin", stop, result.ByLoop},
		{"block", stop, result.ByScheduler},
		{"spin", hog, result.ByLoop},
	} {
		t.Run(c.wait+" "+c.disturb, func(t *testing.T) {
			labtest.Experiment(t)
			experiment, writer := prepare(t, "interruptions", fmt.Sprintf(`
topology:
  nodes: {a: {}, dut: {app: {kind: forward, wait: %s}}}
  links:
    - {name: in, kind: veth, endpoints: ["a:tx", "dut:in"]}
    - {name: lan, kind: switch, endpoints: ["dut:out", "a:rx"]}
traffic: {from: "a:tx", to: "a:rx", backend: raw, wait: spin, rate_pps: 1000, duration: 2s, warmup: 200ms, drain: 200ms}
disturb:
  stops: {node: dut, %s}
`, c.wait, c.disturb))
			checkStops(t, finish(t, experiment, writer), c.by)
		})
	}
}

func checkStops(t *testing.T, done *result.Result, by string) {
	t.Helper()
	trial := done.Summary.Trials[0]
	if trial.Interruptions == nil {
		t.Fatal("the trial has no witnesses")
	}
	var loops []string
	witnessed := false
	for _, w := range trial.Interruptions.Witnesses {
		if w.By == result.ByLoop {
			loops = append(loops, w.Thread)
		}
		witnessed = witnessed || w.Thread == "forward dut" && w.By == by
		// A busy host takes the other threads more often than there is room for, which is told then.
		if w.ThresholdNs == 0 || w.Thread == "forward dut" && w.Overflow > 0 {
			t.Errorf("%+v", w)
		}
	}
	if want := []string{"loop", "forward dut", "switch lan 1"}; !slices.Equal(loops, want) || !witnessed || len(trial.Interruptions.Unseen) > 0 {
		t.Errorf("%+v are witnesses, want the loops %v, and the forwarder by the %s", trial.Interruptions, want, by)
	}
	checkUndisturbed(t, trial)
	folder := done.TrialFolder(trial.ID)
	rows, err := folder.Interruptions()
	if err != nil {
		t.Fatal(err)
	}
	details, err := folder.Details()
	if err != nil || len(details.Disturbances) != 1 {
		t.Fatalf("%+v, %v", details.Disturbances, err)
	}
	var listed int64
	for _, row := range rows {
		told := by == result.ByLoop && row.LengthNs > int64(900*time.Microsecond) || row.Kind == "stopped"
		if row.Thread == "forward dut" && told {
			listed += row.LengthNs
		}
	}
	// Stops at the ends of the trial are counted as a whole there, and may be cut here.
	if stopped := details.Disturbances[0].LengthNs; stopped < int64(100*time.Millisecond) || float64(listed) < 0.9*float64(stopped) {
		t.Errorf("the forwarder was stopped for %v, and %v are listed", time.Duration(stopped), time.Duration(listed))
	}
}
