package killed

import (
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// Every kind of node, of link and of app in one lab:
//
//	a:v ──veth── b:v      a:br, b:br, c:br, h:br ──bridge──      a:mac, b:mac ──macvlan──
//	c:x1 ──xdp── a:x1     a:x3, b:x3, c:x3 ──xdp, a switch──
//
// a has a limit on its memory and CPUs, b reflects and is disturbed, c is a container, and
// h is the bare host, with a process in the background.
const wholeLab = `
name: tbcrash
topology:
  nodes:
    a: {runtime: netns, cpu_list: "0", memory: 1GiB}
    b: {runtime: netns, app: {kind: reflect, backend: raw}, exec: [["true"]]}
    h: {runtime: host, exec: [["sh", "-c", "sleep 1000 >/dev/null 2>&1 &"]]}
    c: {runtime: lxc, memory: 256MiB, app: {kind: route}, sysctls: {net.ipv4.ip_default_ttl: "65"}}
  links:
    - {name: v, kind: veth, endpoints: ["a:v", "b:v"]}
    - {name: br, kind: bridge, endpoints: ["a:br", "b:br", "c:br", "h:br"]}
    - {name: mac, kind: macvlan, endpoints: ["a:mac", "b:mac"]}
    - {name: x1, kind: xdp, endpoints: ["c:x1", "a:x1"]}
    - {name: x3, kind: xdp, endpoints: ["a:x3", "b:x3", "c:x3"]}
traffic: {from: "a:v", to: "a:v", rate_pps: 1000, backend: raw}
disturb:
  it: {kind: timers, node: b, period: 1s, length: 1ms}
`

// changedLab changes wholeLab: another app, one link less, one endpoint less, one node more,
// another disturbance, and other limits of a and c, which start afresh.
var changedLab = strings.NewReplacer(
	`kind: bridge, endpoints: ["a:br", "b:br", "c:br", "h:br"]`, `kind: bridge, endpoints: ["a:br", "d:br", "c:br", "h:br"]`,
	`    - {name: mac, kind: macvlan, endpoints: ["a:mac", "b:mac"]}`+"\n", "",
	`  links:`, "    d: {runtime: lxc}\n  links:",
	`name: x1, kind: xdp`, `name: x1, kind: veth`,
	`length: 1ms`, `length: 2ms`,
	`memory: 1GiB`, `memory: 2GiB`, `memory: 256MiB`, `memory: 128MiB`,
).Replace(wholeLab)

func newCrasher(t *testing.T) *Crasher {
	t.Helper()
	return newCrasherNamed(t, "tbcrash")
}

// newCrasherNamed has labs of another name, for which no other file's tests wait.
func newCrasherNamed(t *testing.T, lab string) *Crasher {
	t.Helper()
	labtest.Experiment(t)
	labs.NeedLXC(t)
	return New(t, named(wholeLab, lab), named(changedLab, lab))
}

// named is the text of wholeLab, or of one made from it, with another name.
func named(text, lab string) string {
	return strings.Replace(text, "name: tbcrash\n", "name: "+lab+"\n", 1)
}

func TestDownAfterUpWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	before := traces.Sysctls(t)
	c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, killed bool, said string) {
		if !killed && len(traces.Left(t, c.Prefix, c.StateDir)) < 20 {
			t.Fatal("the lab is up, and the check for what is left sees little of it")
		}
		c.Run(0, "down", "tbcrash")
		c.Gone("up killed at " + said)
	})
	traces.SameSysctls(t, before)
}

func TestUpAgainAfterUpWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	// Each tenth point: the same code removes the rest as in the test above.
	c.Killed(10, nil, []string{"up", c.Whole}, func(_ int, killed bool, said string) {
		if killed {
			c.Run(0, "up", c.Whole)
		}
		c.Run(0, "down", "tbcrash")
		c.Gone("up killed and done again, " + said)
	})
}

func TestDownAfterDownWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	before := traces.Sysctls(t)
	c.Killed(1, []string{"up", c.Whole}, []string{"down", "tbcrash"}, func(_ int, killed bool, said string) {
		if killed {
			c.Run(0, "down", "tbcrash")
		}
		c.Gone("down killed at " + said)
	})
	traces.SameSysctls(t, before)
}

func TestDownAfterApplyWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	before := traces.Sysctls(t)
	c.Killed(1, []string{"up", c.Whole}, []string{"apply", c.Changed}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrash")
		c.Gone("apply killed at " + said)
	})
	traces.SameSysctls(t, before)
}
