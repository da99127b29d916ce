package measure

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
)

// Resume continues with what a previous agent has published of the same paths, at the same load: all trials of
// a figure come back as one. Otherwise the first trial of a new agent would stand alone, with too few packets
// for high percentiles. It returns an error for figures that cannot be read; the others count. A figure whose packets
// are not known by time, which an older agent has published, does not count: none with it would have bounds.
func (w *Window) Resume(figures []v1alpha1.Figure, l Load, now time.Time) error {
	var trials []Trial
	var unread []error
	for i := range figures {
		f := &figures[i]
		if !w.resumes(f, l, now) {
			continue
		}
		latency, err := result.DecodeHistogram(base64.StdEncoding.EncodeToString(f.Histogram))
		blocks, spread := confidence.DecodeBlocks(f.Spread)
		if err = errors.Join(err, spread); err != nil {
			unread = append(unread, fmt.Errorf("published figure of %s %s: %w", f.Tier, f.Peer, err))
			continue
		}
		trials = append(trials, Trial{
			Tier: f.Tier, Peer: f.Peer, Load: l, At: f.MeasuredAt.Time, Since: began(f, w.Length), Verdict: verdictOf(f.Verdict), Reasons: f.Reasons,
			Latency: latency, Blocks: blocks, Valid: f.ValidUntil.Sub(f.MeasuredAt.Time), Level: levelOf(f, latency),
		})
		if f.ChangedAt != nil {
			w.change(Way{f.Tier, f.Peer}, f.ChangedAt.Time)
		}
	}
	w.trials = slices.Concat(trials, w.trials) // they are older
	return errors.Join(unread...)
}

// resumes reports whether a figure still counts. Its trials cannot be dropped one by one, so it does not count
// if its first packets are older than two windows: otherwise an agent that restarts again and again would
// publish packets of days ago.
func (w *Window) resumes(f *v1alpha1.Figure, l Load, now time.Time) bool {
	length := max(w.Length, f.ValidUntil.Sub(f.MeasuredAt.Time))
	age := now.Sub(f.MeasuredAt.Time)
	return len(f.Histogram) > 0 && len(f.Spread) > 0 && (f.Verdict == v1alpha1.Clean || f.Verdict == v1alpha1.Noisy) &&
		f.RatePPS == l.RatePPS && f.FrameBytes == l.FrameBytes &&
		age >= 0 && age <= length && now.Sub(began(f, w.Length)) <= 2*length
}

// levelOf returns the level of a published figure; one of an older agent does not say what its undisturbed part is.
func levelOf(f *v1alpha1.Figure, h *result.Histogram) Level {
	if h.Count() == 0 {
		return Level{}
	}
	tenth := h.Ranked(result.Rank(0.1, h.Count()))
	return Level{P50Ns: h.Ranked(result.Rank(0.5, h.Count())), QuietNs: cmp.Or(f.QuietNs, tenth)}
}

// began returns when the first packets of a figure were measured: if it does not say, a whole window before
// the last ones.
func began(f *v1alpha1.Figure, window time.Duration) time.Time {
	if f.Since == nil {
		return f.MeasuredAt.Add(-window)
	}
	return f.Since.Time
}

func verdictOf(v v1alpha1.Verdict) result.Verdict {
	if v == v1alpha1.Noisy {
		return result.Noisy
	}
	return result.Clean
}
