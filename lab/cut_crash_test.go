package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// A link that fails in the middle of a trial, once as devices of the kernel and once in the switch:
//
//	a:k ──xdp── b:k      a:s ──switch── b:s
const failingLab = `
name: tbcrashcut
topology:
  nodes: {a: {}, b: {}}
  links:
    - {name: k, kind: xdp, endpoints: ["a:k", "b:k"]}
    - {name: s, kind: switch, endpoints: ["a:s", "b:s"]}
traffic: {from: "a:k", to: "b:k", rate_pps: 100, warmup: 0s, duration: 300ms, drain: 100ms}
events:
  - {at: 50ms, link: k, down: 50ms}
  - {at: 100ms, link: s, down: 50ms}
`

// TestNothingIsLeftOfARunThatWasKilledWhileALinkWasDown kills a run while a link is down, and in the
// long form at each moment of a cut: before and after the journal has it, and while it is undone.
func TestNothingIsLeftOfARunThatWasKilledWhileALinkWasDown(t *testing.T) {
	labtest.Root(t)
	c := newCrasherOf(t, failingLab, failingLab)
	before := settings(t)
	run := []string{"run", c.whole, "--out", t.TempDir()}
	list := filepath.Join(t.TempDir(), "points")
	t.Setenv("NINES_FAULT_LIST", list)
	_, said := c.run(0, run...)
	_ = os.Unsetenv("NINES_FAULT_LIST") // t.Setenv puts it back
	c.gone("run that nobody killed, " + said)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	const whileDown = "link down"
	tried := map[string]bool{}
	for i, point := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		moment, kind, _ := strings.Cut(point, "\t")
		if kind != "cut" || tried[moment] || moment != whileDown && !labtest.Long() {
			continue
		}
		tried[moment] = true
		killed, said := c.run(i+1, run...)
		if !killed {
			t.Errorf("the run was not killed %s: %s", moment, said)
		}
		c.run(0, "down", "tbcrashcut")
		c.gone("run killed " + moment + ", " + said)
	}
	if !tried[whileDown] {
		t.Errorf("no run was killed while a link was down: %v", tried)
	}
	unchanged(t, before)
}
