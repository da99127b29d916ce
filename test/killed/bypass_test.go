package killed

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// A switch with DPDK and kernel ports, and hugepages reserved for an engine that only a measurement
// starts:
//
//	a:x (vhost-user) ──╮
//	a:y (vhost-user) ──┼── switch
//	b:z (veth) ────────╯
func bypassLab(memoryMiB int) string {
	return fmt.Sprintf(`
name: tbcrashby
dpdk: {hugepages: reserve, memory: %dMiB}
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: lxc}
  links:
    - {name: l1, kind: switch, endpoints: ["a:x", "a:y", "b:z"]}
traffic: {from: "a:x", to: "a:y", rate_pps: 1000, backend: dpdk, wait: spin, io: batch}
`, memoryMiB)
}

// TestNothingIsLeftOfABypassThatWasKilled kills apply, and in the long form up and down, at every point,
// including the reservation of hugepages: the lab wants more than the host has.
func TestNothingIsLeftOfABypassThatWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labtest.Hugepages(t)
	labs.NeedLXC(t)
	pool := hugepages.Of(0, 2<<20)
	counts, err := pool.Read()
	labtest.Require(t, fmt.Sprintf("hugepages (%v)", err), err == nil)
	whole := bypassLab(2 * (counts.Reserved + 32))
	// Another node, and one port more and one less on the switch that stays.
	changed := strings.NewReplacer(`"b:z"]`, `"c:z"]`, "    b: {runtime: lxc}", "    c: {runtime: netns}",
		fmt.Sprint(2*(counts.Reserved+32), "MiB"), fmt.Sprint(2*(counts.Reserved+40), "MiB")).Replace(whole)
	c := New(t, whole, changed)
	before := traces.Sysctls(t)
	for what, step := range map[string]struct{ first, killed []string }{
		"up":    {nil, []string{"up", c.Whole}},
		"apply": {[]string{"up", c.Whole}, []string{"apply", c.Changed}},
		"down":  {[]string{"up", c.Whole}, []string{"down", "tbcrashby"}},
	} {
		if what != "apply" && !labtest.Long() {
			continue // apply makes and removes all that these do
		}
		c.Killed(1, step.first, step.killed, func(_ int, killed bool, said string) {
			if killed || what != "down" {
				c.Run(0, "down", "tbcrashby")
			}
			c.Gone(what + " killed at " + said)
			now, err := pool.Read()
			if err != nil || now.Reserved != counts.Reserved {
				t.Fatalf("%s killed at %s: %d hugepages are reserved, not %d: %v", what, said, now.Reserved, counts.Reserved, err)
			}
		})
	}
	traces.SameSysctls(t, before)
}
