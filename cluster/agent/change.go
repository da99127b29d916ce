package agent

import (
	"context"
	"log/slog"
	"time"

	"nines.dev/nines/cluster/agent/measure"
)

// measured measures a path by a trial, and at once by a second one if the first lies apart from those before it. If both
// do, the path has changed, and what was measured before counts no longer: the next figure is of the path as it is now.
// If the second does not, something has disturbed the first. If there is no second, that of the next round tells. The
// trial asks a busy peer again for some time, and returns true if it counts.
func (a *Agent) measured(ctx context.Context, way measure.Way, trial func(patience time.Duration) (bool, error)) error {
	counts, err := trial(patience)
	if err != nil || !counts || a.settled(way) || !a.window.Suspect(way) {
		return err
	}
	slog.Info("the path may have changed: measuring again", "tier", way.Tier, "to", way.Peer)
	if counts, err = trial(max(surePatience, a.Interval/2)); err == nil && counts {
		a.settled(way)
	}
	return err
}

// settled reports whether the last trials show that a path has changed.
func (a *Agent) settled(way measure.Way) bool {
	word := "slower"
	switch a.window.Settle(way) {
	case measure.Same:
		return false
	case measure.Faster:
		word = "faster"
	case measure.Slower:
	}
	slog.Info("the path has changed: what was measured before no longer counts", "tier", way.Tier, "to", way.Peer, "now", word)
	a.Metrics.changes.WithLabelValues(way.Tier, word).Inc()
	return true
}
