package killed

import (
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// watchedLab is wholeLab with a node that is watched.
var watchedLab = strings.Replace(named(wholeLab, "tbcrashre"), "b: {runtime: netns, app", "b: {runtime: netns, restart: on-failure, healthcheck: {exec: [\"true\"]}, app", 1)

// At whatever point of a restart nines was killed, down undoes all of it.
func TestDownAfterRestartWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasherNamed(t, "tbcrashre")
	before := traces.Sysctls(t)
	c.Killed(1, []string{"up", c.Whole}, []string{"restart", "a", "b", "c"}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrashre")
		c.Gone("restart killed at " + said)
	})
	traces.SameSysctls(t, before)
}

// The next restart of the same nodes finishes what was cut off, and the lab is as planned.
func TestRestartAfterRestartWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasherNamed(t, "tbcrashre")
	c.Killed(3, []string{"up", c.Whole}, []string{"restart", "a", "b", "c"}, func(_ int, _ bool, said string) {
		c.Run(0, "restart", "a", "b", "c")
		c.Run(0, "check", "tbcrashre") // its exit code says if something is not as planned
		c.Run(0, "down", "tbcrashre")
		c.Gone("restart killed and done again, " + said)
	})
}

// A restart afresh that was cut off leaves nothing after down; the next restart makes whole what it left of
// the nodes' files.
func TestRestartAfterOneAfreshWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c, times := newCrasherNamed(t, "tbcrashre"), 0
	c.Killed(3, []string{"up", c.Whole}, []string{"restart", "--fresh", "a", "b", "c"}, func(_ int, _ bool, said string) {
		if times++; times%2 == 1 {
			c.Run(0, "restart", "a", "b", "c")
			c.Run(0, "check", "tbcrashre")
			c.Run(0, "exec", "--lab", "tbcrashre", "c", "--", "test", "-e", "/etc/hostname")
		}
		c.Run(0, "down", "tbcrashre")
		c.Gone("restart --fresh killed, " + said)
	})
}

// A stop that was cut off is finished by the next one, and the start of what it left.
func TestStartAfterStopWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasherNamed(t, "tbcrashre")
	c.Killed(3, []string{"up", c.Whole}, []string{"stop", "a", "b", "c"}, func(_ int, _ bool, said string) {
		c.Run(0, "stop", "a", "b", "c")
		c.Run(0, "check", "tbcrashre")
		c.Run(0, "start", "a", "b", "c")
		c.Run(0, "check", "tbcrashre")
		c.Run(0, "down", "tbcrashre")
		c.Gone("stop killed, " + said)
	})
}

// A watched lab, killed while it is made.
func TestDownAfterUpOfAWatchedLabWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labs.NeedLXC(t)
	c := New(t, watchedLab, watchedLab)
	c.FurtherKinds = true
	c.Killed(10, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrashre")
		c.Gone("up of a watched lab killed at " + said)
	})
}
