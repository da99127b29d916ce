package explain

import (
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// What the recorder cost is told as far as it is known: not for each packet where there are
// none, and without a word of what was not measured but how to measure it.
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
			says: []string{"made 500 records, and lost none that was to be kept.", "took about 3 ms of CPU time on all CPUs together, 10 % of one CPU, 1 µs for each packet.", "was not measured: `sweep: {trace: [false, true]}`"}},
		"with others": {trace: result.Trace{Threads: sender, CostNs: &cost, ElapsedNs: 30_000_000}, lost: 4, all: []result.Trial{trial, off},
			says: []string{"lost 4 that were to be kept", "medians of 1 and 1 trial: received 1 against 1 pps (×1); `repeat: 6`"}, not: []string{"not measured"}},
		"a kernel that does not count": {trace: result.Trace{Threads: sender}, says: []string{"is not known"}, not: []string{"of one CPU", "packet."}},
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
