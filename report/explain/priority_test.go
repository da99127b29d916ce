package explain

import (
	"strings"
	"testing"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
)

// A priority not above that of the thread that had the CPU is no remedy.
func TestThePriorityOfTheRemedyIsAboveTheCauses(t *testing.T) {
	for source, want := range map[string]string{
		"real-time priority 1":  "priority: 2}",
		"real-time priority 90": "priority: 91}",
		"real-time priority 98": "priority: 99}",
		"real-time priority 99": "No priority is above this thread's 99",
		"SCHED_DEADLINE":        "precedes any priority",
	} {
		remedy := adviceFor(result.Cause{Kind: attribution.Priority, Source: source}).words(result.Cause{CPU: 1}, false)
		if !strings.Contains(remedy, want) || !strings.Contains(remedy, "sched_rt_runtime_us") {
			t.Errorf("%s: %q lacks %q, or what throttles", source, remedy, want)
		}
		if strings.Contains(remedy, "priority: 100") {
			t.Errorf("%s: %q", source, remedy)
		}
	}
}
