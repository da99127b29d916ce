package explain

import (
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// The recorder's cost is reported as far as it is known: not per packet if there are none. If it
// was not measured, only the way to measure it is reported.
func TestWhatTheRecorderCostIsTold(t *testing.T) {
	cost := int64(3_000_000)
	sender := []result.TracedThread{{Role: result.RoleSender}, {Role: result.RoleReceiver}}
	program := []result.TracedThread{{Role: result.RoleProgram}}
	trial := result.Trial{TxPackets: 1000, Variables: map[string]any{"trace": true}, Verdict: result.Clean, OfferedPPS: 1, RxPackets: 1000}
	off := trial
	off.Variables = map[string]any{"trace": false}
	for name, test := range map[string]struct {
		trace     result.Trace
		lost      uint64
		all       []result.Trial
		says, not []string
	}{
		"a trial": {trace: result.Trace{Threads: sender, Events: 500, Kept: 20, CostNs: &cost, ElapsedNs: 30_000_000},
			says: []string{"made 500 records, and lost none that should have been kept.", "used about 3 ms of CPU time on all CPUs together, 10 % of one CPU, 1 µs for each packet.", "was not measured: use `sweep: {trace: [false, true]}`"}},
		"with others": {trace: result.Trace{Threads: sender, CostNs: &cost, ElapsedNs: 30_000_000}, lost: 4, all: []result.Trial{trial, off},
			says: []string{"lost 4 that should have been kept", "medians of 1 and 1 trial: received 1 against 1 pps (×1); `repeat: 6`"}, not: []string{"not measured"}},
		"a kernel that does not count": {trace: result.Trace{Threads: sender}, says: []string{"is unknown"}, not: []string{"of one CPU", "packet."}},
		"a result of before":           {trace: result.Trace{Threads: sender, CostNs: &cost}, says: []string{"3 ms of CPU time on all CPUs together."}, not: []string{"of one CPU", "packet."}},
		"a program":                    {trace: result.Trace{Threads: program, CostNs: &cost, ElapsedNs: 30_000_000}, says: []string{"10 % of one CPU."}, not: []string{"packet", "sweep"}},
	} {
		said := RecorderOf(result.Details{DurationNs: 10_000_000, Trace: &test.trace}, trial, test.all).words(test.lost)
		for _, want := range test.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q lacks %q", name, said, want)
			}
		}
		for _, other := range test.not {
			if strings.Contains(said, other) {
				t.Errorf("%s: %q has %q", name, said, other)
			}
		}
	}
}

// A search's latency trials at a fraction of its result are compared as shown, with that fraction
// as a variable; its other trials are not compared.
func TestTracedTrialsOfSearchesAreCompared(t *testing.T) {
	trial := func(id string, traced bool) result.Trial {
		return result.Trial{ID: id, Search: id, TxPackets: 1000, RxPackets: 1000, OfferedPPS: 1, Verdict: result.Clean, Variables: map[string]any{"trace": traced}}
	}
	trials := []result.Trial{trial("0001", true), trial("0002", false), trial("0003", true)}
	found := func(id string) result.Search {
		return result.Search{ID: id, Findings: []result.Finding{{Name: "latency p99", Trial: id, Conditions: map[string]any{"load": 0.5, "of": "NDR"}}}}
	}
	searches := []result.Search{found("0001"), found("0002")}
	for _, test := range []struct {
		trial    result.Trial
		searches []result.Search
		want     string
	}{
		{trials[0], searches, "medians of 1 and 1 trial: received 1 against 1 pps"},
		{trials[0], searches[:1], "was not measured: use `sweep: {trace: [false, true]}`"},
		{trials[2], searches, ""},
	} {
		details := result.Details{Trace: &result.Trace{Threads: []result.TracedThread{{Role: result.RoleSender}}}}
		recorder := RecorderOf(details, test.trial, result.Shown(trials, test.searches))
		said := strings.TrimPrefix(recorder.words(0), recorder.took(0))
		if !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("trial %s: %q, not %q", test.trial.ID, said, test.want)
		}
	}
}
