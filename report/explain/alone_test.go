package explain

import (
	"strings"
	"testing"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
)

// Users who record their own program have no experiment file for keys.
func TestRemediesForAProgramOfOnesOwn(t *testing.T) {
	causes := result.Causes{}
	for _, kind := range attribution.Kinds() {
		causes.Ranking = append(causes.Ranking, result.RankedCause{Cause: result.Cause{Kind: kind, Name: "NET_RX", CPU: 1}})
	}
	details := result.Details{Trace: &result.Trace{Threads: []result.TracedThread{{Role: result.RoleProgram, TID: 7}}}}
	Fill(&causes, details)
	for _, ranked := range causes.Ranking {
		// Only an experiment has packet queues and links.
		if kind := ranked.Cause.Kind; kind == attribution.RingFull || kind == attribution.Queue || kind == attribution.Forwarder || kind == attribution.Impaired {
			continue
		}
		for _, key := range []string{"isolation:", "experiment file", "of the node", "wait: spin", "rx: `"} {
			if strings.Contains(ranked.Remedy, key) {
				t.Errorf("%s: %q has %q", ranked.Cause.Kind, ranked.Remedy, key)
			}
		}
		if strings.Contains(ranked.Sentence, "ordinary") {
			t.Errorf("%s: %q", ranked.Cause.Kind, ranked.Sentence)
		}
	}
	details.Trace.Threads[0].Role = result.RoleSender
	Fill(&causes, details)
	if remedy := causes.Ranking[1].Remedy; !strings.Contains(remedy, "isolation: isolated") {
		t.Errorf("for an experiment: %q", remedy)
	}
}
