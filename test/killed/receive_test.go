package killed

import (
	"strings"
	"testing"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// Every way to receive in one lab:
//
//	load:a ──── one:in (polled)     load:b ──── two:in (threads)
//	load:c ──── one:out (suspended) load:d ──── two:out (awake)
const everyReceive = `
name: tbrxcrash
topology:
  nodes:
    load: {}
    one: {rx: busy_poll}
    two: {runtime: host, rx: threaded}
  links:
    - {name: a, endpoints: ["load:a", "one:in"]}
    - {name: b, endpoints: ["load:b", "two:in"]}
    - {name: c, endpoints: ["load:c", "one:out"], rx: {"one:out": suspend}}
    - {name: d, endpoints: ["load:d", "two:out"], rx: {"two:out": awake}}
`

// otherReceive changes it: other receive modes, at nodes and links that stay.
var otherReceive = strings.NewReplacer("one: {rx: busy_poll}", "one: {rx: threaded}", "rx: threaded}", "rx: busy_poll}",
	`"two:out": awake`, `"two:out": interrupt`).Replace(everyReceive)

func newReceiveCrasher(t *testing.T) *Crasher {
	t.Helper()
	labtest.Experiment(t)
	for _, way := range []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveSuspend} {
		labs.NeedReceive(t, way)
	}
	c := New(t, everyReceive, otherReceive)
	c.FurtherKinds = true
	return c
}

// At whatever point of setting up receive modes nines was killed, down undoes all of it, including
// settings of CPUs, which outlive the lab.
func TestReceiveDownAfterUpWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newReceiveCrasher(t)
	before, latencies := traces.Sysctls(t), traces.WakeLatencies(t)
	c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbrxcrash")
		c.Gone("up killed at " + said)
		traces.AsleepAgain(t, latencies, "up killed at "+said)
	})
	traces.SameSysctls(t, before)
}

// The same for a change of receive modes: every fifth point, as each needs a new lab.
func TestReceiveDownAfterApplyWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c := newReceiveCrasher(t)
	before, latencies := traces.Sysctls(t), traces.WakeLatencies(t)
	c.Killed(5, []string{"up", c.Whole}, []string{"apply", c.Changed}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbrxcrash")
		c.Gone("apply killed at " + said)
		traces.AsleepAgain(t, latencies, "apply killed at "+said)
	})
	traces.SameSysctls(t, before)
}
