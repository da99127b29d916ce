package lab

import (
	"strings"
	"testing"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
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

func newReceiveCrasher(t *testing.T) *crasher {
	t.Helper()
	labtest.Root(t)
	for _, way := range []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveSuspend} {
		canReceive(t, way)
	}
	c := newCrasherOf(t, everyReceive, otherReceive)
	c.furtherKinds = true
	return c
}

// At whatever point of setting up receive modes nines was killed, down undoes all of it, including
// settings of CPUs, which outlive the lab.
func TestReceiveDownAfterUpWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newReceiveCrasher(t)
	before, latencies := settings(t), wakeLatencies(t)
	c.killed(1, nil, []string{"up", c.whole}, func(_ int, _ bool, said string) {
		c.run(0, "down", "tbrxcrash")
		c.gone("up killed at " + said)
		asleepAgain(t, latencies, "up killed at "+said)
	})
	unchanged(t, before)
}

// The same for a change of receive modes: every fifth point, as each needs a new lab.
func TestReceiveDownAfterApplyWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c := newReceiveCrasher(t)
	before, latencies := settings(t), wakeLatencies(t)
	c.killed(5, []string{"up", c.whole}, []string{"apply", c.changed}, func(_ int, _ bool, said string) {
		c.run(0, "down", "tbrxcrash")
		c.gone("apply killed at " + said)
		asleepAgain(t, latencies, "apply killed at "+said)
	})
	unchanged(t, before)
}
