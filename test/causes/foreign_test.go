package causes

import (
	"os"
	"testing"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// foreignKinds are disturbers that share nothing with nines-disturb: a mistake in what nines takes
// for granted about a disturbance is not made twice.
var foreignKinds = []injected{
	{name: "UDP flood", setup: setup{scheduling: realTime}, foreign: "flood", arguments: []string{"50000", "5000"},
		is: func(c result.Cause) bool { return c.Kind == attribution.Softirq && c.Name == "NET_RX" },
		// Receive packet steering wakes the CPU by an interrupt.
		with: func(c result.Cause) bool { return c.Kind == attribution.IPI && c.Source == "flood" }},
	{name: "receiver's hog", setup: setup{scheduling: ordinary, apart: true, wait: "block"}, foreign: "hog", arguments: []string{"50000", "20000"}, whole: true,
		is: func(c result.Cause) bool { return c.Kind == attribution.Hog && c.Name == "hog" }},
	{name: "perf calls", setup: setup{scheduling: realTime, slowest: 1000}, foreign: "perfcalls", arguments: []string{"25000", "20000"}, short: true,
		is: func(c result.Cause) bool { return c.Kind == attribution.IPI && c.Source == "perfcalls" }},
	{name: "membarrier", setup: setup{scheduling: realTime, slowest: 1000, wait: "block"}, foreign: "membarrier", arguments: []string{"25000", "20000"}, short: true, small: true,
		is: func(c result.Cause) bool { return c.Kind == attribution.IPI && c.Source == "membarrier" }},
	{name: "TLB flushes", setup: setup{scheduling: realTime, slowest: 1000, wait: "block"}, foreign: "tlb", arguments: []string{"25000", "20000"}, short: true, small: true,
		is: func(c result.Cause) bool { return c.Kind == attribution.TLBShootdown && c.Source == "tlb" }},
	{name: "timerfd 21 kHz", setup: setup{scheduling: realTime}, foreign: "timerfd", arguments: []string{"50000", "20000"}, short: true,
		is: func(c result.Cause) bool {
			return c.Kind == attribution.Timer || c.Kind == attribution.Priority && c.Name == "timerfd"
		}},
	{name: "page faults beside", setup: setup{scheduling: ordinary}, foreign: "faults", arguments: []string{"100000", "20000"}, whole: true,
		is: func(c result.Cause) bool { return c.Kind == attribution.Hog && c.Name == "faults" }},
	{name: "stat_refresh", setup: setup{scheduling: ordinary, slowest: 1000}, foreign: "refresh", arguments: []string{"50000", "20000"}, short: true,
		is: func(c result.Cause) bool {
			return c.Kind == attribution.Workqueue || c.Kind == attribution.IPI && c.Source == "refresh"
		}},
}

func TestForeignCausesAreNamedFirst(t *testing.T) {
	if os.Getenv("NINES_CAUSES_TRIALS") == "" {
		labtest.LongForm(t)
	}
	areNamedFirst(t, foreignKinds)
}
