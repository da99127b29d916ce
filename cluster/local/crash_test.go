package local_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// crasher is a cluster whose nines-cluster kills itself at the n-th fault point. What it starts is
// the ordinary one.
func crasher(t *testing.T) *cluster {
	t.Helper()
	c := onlyCluster(t)
	c.program = filepath.Join(t.TempDir(), "nines-cluster")
	build := labtest.Go("build", "-tags", "faultpoint", "-o", c.program, "./cmd/nines-cluster")
	build.Dir = labtest.Module()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nines-cluster: %v: %s", err, out)
	}
	return c
}

// points are the fault points of a command at which a test kills it. Each takes half a minute, for a
// cluster to be made: these tests are of the long form, which has all of them.
func (c *cluster) points(t *testing.T, arguments ...string) []int {
	t.Helper()
	return labtest.Kills(labtest.PassedPoints(t, func() { c.must(arguments...) }), map[string]bool{})
}

// at runs a command that is to be killed at a fault point, and reports whether it was.
func (c *cluster) at(t *testing.T, point int, arguments ...string) bool {
	t.Helper()
	c.env = append(c.env, fmt.Sprint("NINES_FAULT_AT=", point))
	out, killed, err := c.run(arguments...)
	c.env = c.env[:len(c.env)-1]
	if err != nil && !killed {
		t.Fatalf("nines cluster %s, killed at point %d: %v: %s", strings.Join(arguments, " "), point, err, out)
	}
	return killed
}

func TestDownAfterUpWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.LongForm(t)
	c := crasher(t)
	before := c.host(t)
	up := []string{"up", "--nodes", "1", "--name", c.name}
	points := c.points(t, up...)
	c.must("down", "--name", c.name)
	for _, point := range points {
		c.at(t, point, up...)
		// Killed before it was noted, it has left nothing to take down.
		if out, _, err := c.run("down", "--name", c.name); err != nil && !strings.Contains(out, "does not exist") {
			t.Fatalf("down after up was killed at point %d: %s", point, out)
		}
		if after := c.host(t); after != before {
			t.Fatalf("up was killed at point %d: the host was\n%s\nand is now\n%s", point, before, after)
		}
	}
}

func TestDownAfterDownWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.LongForm(t)
	c := crasher(t)
	before := c.host(t)
	up, down := []string{"up", "--nodes", "1", "--name", c.name}, []string{"down", "--name", c.name}
	c.must(up...)
	for _, point := range c.points(t, down...) {
		c.must(up...)
		if c.at(t, point, down...) {
			if out, _, err := c.run(down...); err != nil && !strings.Contains(out, "does not exist") {
				t.Fatalf("down after down was killed at point %d: %s", point, out)
			}
		}
		if after := c.host(t); after != before {
			t.Fatalf("down was killed at point %d: the host was\n%s\nand is now\n%s", point, before, after)
		}
	}
}
