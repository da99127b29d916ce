package killed

import (
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestDownAfterUpWithOVSWasKilled kills nines at every step of making a lab with both
// kinds.
func TestDownAfterUpWithOVSWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labs.NeedOVS(t, "ovs")
	labs.NeedOVS(t, "ovs-dpdk")
	text := `
name: tbcrashovs
topology:
  nodes: {a: {runtime: netns}, b: {runtime: netns}}
  links:
    - {name: user, kind: ovs, endpoints: ["a:u", "b:u"]}
    - {name: dpdk, kind: ovs-dpdk, endpoints: ["a:d", "b:d"]}
dpdk: {hugepages: none}
`
	c := New(t, text, text)
	// Each seventh point: the tests of the whole lab go through every point of the same code.
	c.Killed(7, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrashovs")
		c.Gone("up killed at " + said)
	})
}

// TestDownAfterUpWithTunnelsWasKilled kills nines at steps of making a lab with both kinds.
func TestDownAfterUpWithTunnelsWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labs.NeedOVS(t, "ovn")
	text := `
name: tbcrashtun
topology:
  nodes: {a: {runtime: netns}, b: {runtime: netns}}
  links:
    - {name: kernel, kind: vxlan, endpoints: ["a:k", "b:k"]}
    - {name: user, kind: ovn, endpoints: ["a:u", "b:u"]}
`
	c := New(t, text, text)
	c.FurtherKinds = true
	// Each seventh point: the tests of the whole lab go through every point of the same code.
	c.Killed(7, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrashtun")
		c.Gone("up killed at " + said)
	})
}

// TestNothingIsLeftOfARealSwitchThatWasKilled kills nines while it builds a lab with the real
// program, and while it takes it down.
func TestNothingIsLeftOfARealSwitchThatWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	for _, kind := range []string{"snabb", "vpp"} {
		t.Run(kind, func(t *testing.T) {
			labs.NeedRealSwitch(t, kind)
			text := strings.Replace(labs.RealSwitch(kind, "netns", "dpdk", "raw", 64), "name: tbreal", "name: tbcrashreal", 1)
			p := labs.Plan(t, text)
			before := traces.ForeignPages(t, p)
			c := New(t, text, text)
			for what, step := range map[string]struct{ first, killed []string }{
				"up":   {nil, []string{"up", c.Whole}},
				"down": {[]string{"up", c.Whole}, []string{"down", "tbcrashreal"}},
			} {
				// Each seventh point: the tests of the whole lab go through every point of the same code.
				c.Killed(7, step.first, step.killed, func(_ int, killed bool, said string) {
					if killed || what != "down" {
						c.Run(0, "down", "tbcrashreal")
					}
					c.Gone(what + " killed at " + said)
					if after := traces.ForeignPages(t, p); after != before {
						t.Fatalf("%s killed at %s: %d hugepages are reserved besides those that labs added, and were %d", what, said, after, before)
					}
				})
			}
		})
	}
}
