package lab

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/test/labtest"
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

// crasher runs a nines that kills itself at the n-th fault point.
type crasher struct {
	t                *testing.T
	binary           string
	whole, changed   string
	stateDir, prefix string
	// furtherKinds leaves kinds of steps, in the short form, to the tests of the same verb before.
	furtherKinds bool
	// before is done, too, before what is killed, after what the test begins with; nil: nothing.
	before []string
}

// killedKinds are the kinds of steps at which each verb was killed.
var killedKinds = map[string]map[string]bool{}

func newCrasher(t *testing.T) *crasher {
	t.Helper()
	return newCrasherNamed(t, "tbcrash")
}

// newCrasherNamed has labs of another name, for which no other file's tests wait.
func newCrasherNamed(t *testing.T, lab string) *crasher {
	t.Helper()
	labtest.Root(t)
	lxc(t)
	return newCrasherOf(t, named(wholeLab, lab), named(changedLab, lab))
}

// named is the text of wholeLab, or of one made from it, with another name.
func named(text, lab string) string {
	return strings.Replace(text, "name: tbcrash\n", "name: "+lab+"\n", 1)
}

func newCrasherOf(t *testing.T, whole, changed string) *crasher {
	t.Helper()
	c := &crasher{t: t, stateDir: os.Getenv("NINES_STATE_DIR"), prefix: planOf(t, whole).Prefix}
	dir := t.TempDir()
	c.binary = labtest.Nines(t, "faultpoint")
	c.whole, c.changed = filepath.Join(dir, "whole.yaml"), filepath.Join(dir, "changed.yaml")
	for path, text := range map[string]string{c.whole: whole, c.changed: changed} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// run runs nines with a fault at the n-th point, or none if n is 0, and returns
// whether it was killed. Any other failure ends the test.
func (c *crasher) run(n int, arguments ...string) (killed bool, output string) {
	c.t.Helper()
	cmd := exec.Command(c.binary, arguments...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("NINES_FAULT_AT=%d", n))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true, out.String()
	}
	// A lab that was killed before it began to exist, or after it was removed, is not found.
	if err != nil && !strings.Contains(out.String(), "does not exist") {
		c.t.Fatalf("nines %s, fault %d: %v: %s", strings.Join(arguments, " "), n, err, out.String())
	}
	return false, out.String()
}

// gone fails the test if anything of the lab is left.
func (c *crasher) gone(what string) {
	c.t.Helper()
	if left := leaks(c.t, c.prefix, c.stateDir); len(left) > 0 {
		c.t.Fatalf("%s: left behind:\n%s", what, strings.Join(left, "\n"))
	}
}

// killed kills a command at its fault points: in the long form at each, or at each every-th, and
// otherwise at one for each kind of step. It runs first before each kill, and calls after with the
// result, finally for a command that was not killed.
func (c *crasher) killed(every int, first, command []string, after func(n int, killed bool, said string)) {
	c.t.Helper()
	prepare := func() {
		for _, command := range [][]string{first, c.before} {
			if command != nil {
				c.run(0, command...)
			}
		}
	}
	if labtest.Long() {
		for n, killed := 1, true; killed; n += every {
			prepare()
			var said string
			killed, said = c.run(n, command...)
			after(n, killed, said)
		}
		return
	}
	prepare()
	passed, said := c.points(command)
	after(0, false, said)
	verb := command[0]
	if killedKinds[verb] == nil {
		killedKinds[verb] = map[string]bool{}
	}
	known := killedKinds[verb]
	if !c.furtherKinds {
		known = map[string]bool{}
	}
	points := labtest.KillPoints(passed, known)
	maps.Copy(killedKinds[verb], known)
	c.t.Logf("%d of %d points", len(points), len(passed))
	for _, n := range points {
		prepare()
		killed, said := c.run(n, command...)
		after(n, killed, said)
	}
}

// points runs a command that nobody kills, and returns its fault points and what it said.
func (c *crasher) points(command []string) (passed []string, said string) {
	c.t.Helper()
	passed = labtest.PassedPoints(c.t, func() { _, said = c.run(0, command...) })
	return passed, said
}

func TestDownAfterUpWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	before := settings(t)
	c.killed(1, nil, []string{"up", c.whole}, func(_ int, killed bool, said string) {
		if !killed && len(leaks(t, c.prefix, c.stateDir)) < 20 {
			t.Fatal("the lab is up, and the check for what is left sees little of it")
		}
		c.run(0, "down", "tbcrash")
		c.gone("up killed at " + said)
	})
	unchanged(t, before)
}

func TestUpAgainAfterUpWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	// Each tenth point: the same code removes the rest as in the test above.
	c.killed(10, nil, []string{"up", c.whole}, func(_ int, killed bool, said string) {
		if killed {
			c.run(0, "up", c.whole)
		}
		c.run(0, "down", "tbcrash")
		c.gone("up killed and done again, " + said)
	})
}

func TestDownAfterDownWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	before := settings(t)
	c.killed(1, []string{"up", c.whole}, []string{"down", "tbcrash"}, func(_ int, killed bool, said string) {
		if killed {
			c.run(0, "down", "tbcrash")
		}
		c.gone("down killed at " + said)
	})
	unchanged(t, before)
}

func TestDownAfterApplyWasKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasher(t)
	before := settings(t)
	c.killed(1, []string{"up", c.whole}, []string{"apply", c.changed}, func(_ int, _ bool, said string) {
		c.run(0, "down", "tbcrash")
		c.gone("apply killed at " + said)
	})
	unchanged(t, before)
}
