package measure

import (
	"testing"
	"time"

	"nines.dev/nines/result"
)

// Whatever the clock does, a figure has the time of its last trial by the clock of that: readers whose
// clock is right see at once that it is of the future, or too old.
func TestAFigureHasTheTimeOfItsLastTrial(t *testing.T) {
	for name, jump := range map[string]time.Duration{"set back": -2 * time.Hour, "set ahead": 2 * time.Hour, "set back a little": -time.Minute} {
		w := newWindow()
		w.Add(trialOf("veth", noon, 1000, result.Clean))
		after := noon.Add(jump)
		w.Add(trialOf("veth", after, 1000, result.Clean))
		f := figures(t, w, after)["veth"]
		if !f.MeasuredAt.Time.Equal(after) || f.ValidUntil.Sub(after) != w.Valid {
			t.Errorf("a clock that was %s: from %s to %s, and it is %s", name, f.MeasuredAt, f.ValidUntil, after)
		}
	}
	// Without a trial since, the figure is one of the time before the jump, and good no longer than it
	// was then.
	w := newWindow()
	w.Add(trialOf("veth", noon, 1000, result.Clean))
	if f := figures(t, w, noon.Add(-time.Hour))["veth"]; !f.MeasuredAt.Time.Equal(noon) || !f.ValidUntil.Time.Equal(noon.Add(w.Valid)) {
		t.Errorf("from %s to %s", f.MeasuredAt, f.ValidUntil)
	}
}
