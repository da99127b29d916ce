package power

import (
	"fmt"
	"testing"
	"time"
)

func TestGuardSlowsDownASource(t *testing.T) {
	var lines []string
	g := NewGuard(func(line string) { lines = append(lines, line) })
	now := time.Unix(1_700_000_000, 0)
	for i, want := range []time.Duration{0, 0, 1, 2, 4, 8, 16, 16, 16} {
		g.Failed("a", now)
		if got := g.Wait("a", now); got != want*time.Second {
			t.Errorf("after %d wrong passwords: %v, not %v s", i+1, got, int(want))
		}
	}
	if g.Wait("b", now) != 0 {
		t.Error("another source has to wait")
	}
	if g.Wait("a", now.Add(16*time.Second)) != 0 {
		t.Error("the pause does not end")
	}
	g.Succeeded("a", now)
	if g.Wait("a", now) != 0 {
		t.Error("the right password does not end the pause")
	}
	g.Failed("a", now)
	if g.Wait("a", now) != 0 {
		t.Error("earlier wrong passwords count after the right one")
	}
	if g.Failures() != 10 {
		t.Errorf("%d wrong passwords are counted", g.Failures())
	}
	if len(lines) != 1 {
		t.Errorf("within one moment it says %q", lines)
	}
}

func TestGuardForgets(t *testing.T) {
	g := NewGuard(func(string) {})
	now := time.Unix(1_700_000_000, 0)
	for range freeFailures {
		g.Failed("a", now)
	}
	now = now.Add(forgetAfter + time.Second)
	if g.Failed("a", now); g.Wait("a", now) != 0 {
		t.Error("wrong passwords of long ago still count")
	}
}

// Made up addresses fill the table, and no more; they share one pause, and a source that is known is as
// before.
func TestGuardIsBounded(t *testing.T) {
	g := NewGuard(func(string) {})
	now := time.Unix(1_700_000_000, 0)
	g.Succeeded("right", now)
	for i := range 10 * mostSources {
		g.Failed(fmt.Sprint("made up ", i), now)
	}
	if len(g.sources) > mostSources {
		t.Errorf("%d sources are kept", len(g.sources))
	}
	if g.Wait("right", now) != 0 {
		t.Error("the flood slows down a source that is known")
	}
	if g.Wait("another", now) == 0 {
		t.Error("sources without a place do not wait")
	}
	now = now.Add(forgetAfter + time.Second)
	g.Failed("new", now)
	if g.Wait("another", now) != 0 || len(g.sources) > 1 {
		t.Errorf("%d sources are left after the flood", len(g.sources))
	}
}
