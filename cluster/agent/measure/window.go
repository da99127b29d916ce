package measure

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
)

// Window holds the recent trials of a node. A figure combines all of them: a trial of some seconds has too few
// packets for the percentiles that matter.
type Window struct {
	// Length is how long trials count, and Valid how long a figure may be used after its last trial.
	Length, Valid time.Duration
	trials        []Trial
}

// Way is the path that a figure describes: a tier, and the other node if it leads to one.
type Way struct{ Tier, Peer string }

func (t *Trial) way() Way { return Way{t.Tier, t.Peer} }

// Add adds a trial.
func (w *Window) Add(t Trial) { w.trials = append(w.trials, t) }

// Figures returns the figures at a time, sorted by tier and peer. Trials that have left the window are
// dropped; a tier without any has no figure, and counts as unknown. A path that is measured less often than
// the window is long has a longer window: as long as its figure is valid.
func (w *Window) Figures(now time.Time) ([]v1alpha1.Figure, error) {
	w.trials = slices.DeleteFunc(w.trials, func(t Trial) bool { return now.Sub(t.At) > max(w.Length, t.Valid) })
	return w.figures(w.trials)
}

// Newest returns the figures of the last valid trial of each path alone: its current latency, from fewer
// packets.
func (w *Window) Newest() ([]v1alpha1.Figure, error) { return w.figures(w.newest(1)) }

// Restart drops the trials of a path before its last two valid ones: the path has changed.
func (w *Window) Restart(way Way) {
	kept := w.newest(2)
	w.trials = slices.DeleteFunc(w.trials, func(t Trial) bool {
		return t.way() == way && !slices.ContainsFunc(kept, func(k Trial) bool { return k.way() == way && k.At.Equal(t.At) })
	})
}

// newest returns the last trials of each path that are not invalid, at most so many, in the order in which
// they were made.
func (w *Window) newest(most int) []Trial {
	counts := map[Way]int{}
	var out []Trial
	for _, t := range slices.Backward(w.trials) {
		if t.Verdict == result.Invalid {
			continue
		}
		if counts[t.way()]++; counts[t.way()] <= most {
			out = append(out, t)
		}
	}
	slices.Reverse(out)
	return out
}

func (w *Window) figures(trials []Trial) ([]v1alpha1.Figure, error) {
	byWay := map[Way][]Trial{}
	var ways []Way
	for _, t := range trials {
		if byWay[t.way()] == nil {
			ways = append(ways, t.way())
		}
		byWay[t.way()] = append(byWay[t.way()], t)
	}
	slices.SortFunc(ways, func(a, b Way) int { return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Peer, b.Peer)) })
	var figures []v1alpha1.Figure
	for _, way := range ways {
		f, err := w.figure(byWay[way])
		if err != nil {
			return nil, fmt.Errorf("figure of %s %s: %w", way.Tier, way.Peer, err)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// figure merges the trials of a path, the last of which is the newest.
func (w *Window) figure(trials []Trial) (v1alpha1.Figure, error) {
	last := trials[len(trials)-1]
	f := v1alpha1.Figure{
		Tier: last.Tier, Peer: last.Peer, Way: v1alpha1.OneWay, // one clock: within the node
		RatePPS: last.Load.RatePPS, FrameBytes: last.Load.FrameBytes,
		MeasuredAt: metav1.NewTime(last.At), ValidUntil: metav1.NewTime(last.At.Add(cmp.Or(last.Valid, w.Valid))),
	}
	if f.Peer != "" {
		f.Way = v1alpha1.RoundTrip
	}
	merged := result.NewHistogram()
	var blocks confidence.Blocks
	valid := 0
	noisy := false
	for _, t := range trials {
		if t.Verdict == result.Invalid {
			continue
		}
		if began := metav1.NewTime(t.since()); f.Since == nil || began.Before(f.Since) {
			f.Since = &began
		}
		valid++
		if t.Verdict == result.Noisy {
			noisy = true
			f.Reasons = addReasons(f.Reasons, t.Reasons)
		}
		merged.Merge(t.Latency)
		blocks.Add(t.Blocks)
	}
	switch {
	case valid == 0:
		f.Verdict, f.Reasons = v1alpha1.Invalid, addReasons(nil, last.Reasons)
		return f, nil
	case noisy:
		f.Verdict = v1alpha1.Noisy
	default:
		f.Verdict = v1alpha1.Clean
	}
	return f, describe(&f, merged, blocks)
}

// mostReasons limits the reasons that a published figure gives for being noisy.
const mostReasons = 5

func addReasons(to, from []string) []string {
	for _, r := range from {
		if len(to) < mostReasons && !slices.Contains(to, r) {
			to = append(to, r)
		}
	}
	return to
}

// describe writes a histogram into a figure, with its count and percentiles. Those have bounds by the blocks of time,
// if these have all packets.
func describe(f *v1alpha1.Figure, h *result.Histogram, blocks confidence.Blocks) error {
	f.Count = int64(h.Count())
	if f.Count == 0 {
		return nil
	}
	f.MaxNs = h.Ranked(h.Count())
	blocks.Thin() // as it is published, so that the next agent has the same bounds
	for _, named := range result.NamedPercentiles() {
		if !result.Supports(named.P, h.Count()) {
			continue
		}
		p := v1alpha1.Percentile{P: percentOf(named.P), ValueNs: h.Ranked(result.Rank(named.P, h.Count()))}
		if blocks.Total() == h.Count() {
			if high := blocks.Percentile(named.P, confidence.Level).High; high != nil {
				upper := min(int64(*high), f.MaxNs)
				p.UpperNs = &upper
			}
		}
		f.Percentiles = append(f.Percentiles, p)
	}
	encoded, err := h.Encode()
	if err != nil {
		return err
	}
	if f.Histogram, err = base64.StdEncoding.DecodeString(encoded); err != nil || blocks.Total() != h.Count() {
		return err
	}
	f.Spread, err = blocks.Encode()
	return err
}

// percentOf formats a fraction as a percentile: 0.999 is "99.9". The fractions of NamedPercentiles have at
// most six nines.
func percentOf(part float64) string {
	text := fmt.Sprintf("%.4f", 100*part)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}
