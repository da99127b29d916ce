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
		now = now.Add(g.Wait("a", now))
		if g.Try("a", now, false) != 0 {
			t.Errorf("attempt %d has to wait", i+1)
		}
		if got := g.Wait("a", now); got != want*time.Second {
			t.Errorf("after %d wrong passwords: %v, not %v s", i+1, got, int(want))
		}
		if want > 0 && g.Try("a", now, true) != want*time.Second {
			t.Errorf("after %d wrong passwords the right one is taken", i+1)
		}
	}
	if g.Wait("b", now) != 0 {
		t.Error("another source has to wait")
	}
	if g.Wait("a", now.Add(16*time.Second)) != 0 {
		t.Error("the pause does not end")
	}
	if now = now.Add(16 * time.Second); g.Try("a", now, true) != 0 || g.Wait("a", now) != 0 {
		t.Error("the right password does not end the pause")
	}
	g.Try("a", now, false)
	if g.Wait("a", now) != 0 {
		t.Error("earlier wrong passwords count after the right one")
	}
	if g.Failures() != 10 {
		t.Errorf("%d wrong passwords are counted", g.Failures())
	}
	if len(lines) != 8 {
		t.Errorf("of ten wrong passwords, three of them at once, it says %q", lines)
	}
}

func TestGuardForgets(t *testing.T) {
	g := NewGuard(func(string) {})
	now := time.Unix(1_700_000_000, 0)
	for range freeFailures {
		g.Try("a", now, false)
	}
	now = now.Add(forgetAfter + time.Second)
	if g.Try("a", now, false); g.Wait("a", now) != 0 {
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
		g.Try(fmt.Sprint("made up ", i), now, false)
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
	g.Try("new", now, false)
	if g.Wait("another", now) != 0 || len(g.sources) > 1 {
		t.Errorf("%d sources are left after the flood", len(g.sources))
	}
}

// TestAttemptsCountBeforeTheirAnswers: as many as are free may be under way, and who has the password ends the pause.
func TestAttemptsCountBeforeTheirAnswers(t *testing.T) {
	g := NewGuard(func(string) {})
	now := time.Unix(1_700_000_000, 0)
	for i := range freeFailures {
		if g.Begin("a", now) != 0 {
			t.Errorf("attempt %d has to wait", i+1)
		}
	}
	if g.Begin("a", now) != firstPause || g.Try("a", now, true) != firstPause {
		t.Error("one more is answered at the same time")
	}
	if g.Failures() != 0 {
		t.Error("attempts under way are wrong passwords")
	}
	g.Wrong("a", now)
	if g.Failures() != 1 || g.Wait("a", now) != firstPause {
		t.Errorf("%d wrong passwords; one counts twice: %v", g.Failures(), g.Wait("a", now))
	}
	if g.Succeeded("a", now); g.Begin("a", now) != 0 {
		t.Error("the right password does not end the pause")
	}
}
