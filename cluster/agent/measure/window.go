package measure

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
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
	// changed has, of paths that have changed, the end of the first trial after the change.
	changed map[Way]time.Time
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
	maps.DeleteFunc(w.changed, func(way Way, _ time.Time) bool { return len(w.valid(way)) == 0 })
	figures, err := w.figures(w.counting())
	if err != nil {
		return nil, err
	}
	newest, err := w.Newest()
	if err != nil {
		return nil, err
	}
	for i := range figures {
		f := &figures[i]
		if changed, has := w.changed[Way{f.Tier, f.Peer}]; has {
			f.ChangedAt = &metav1.Time{Time: changed}
		}
		for _, n := range newest {
			if n.Tier == f.Tier && n.Peer == f.Peer {
				f.Newest = newestOf(n)
			}
		}
	}
	return figures, nil
}

// newestOf returns what a figure of a single trial says beside one of several.
func newestOf(f v1alpha1.Figure) *v1alpha1.Newest {
	return &v1alpha1.Newest{
		MeasuredAt: f.MeasuredAt, Count: f.Count, Percentiles: f.Percentiles, MaxNs: f.MaxNs, Verdict: f.Verdict, Reasons: f.Reasons,
	}
}

// outvoted is how many undisturbed trials after a disturbed one make it count no longer.
const outvoted = 2

// counting returns the trials without the disturbed ones that the later ones have outvoted: what a busy host did to a
// trial says little of the path an hour later.
func (w *Window) counting() []Trial {
	quiet := map[Way]int{}
	var out []Trial
	for _, t := range slices.Backward(w.trials) {
		switch {
		case t.Verdict == result.Invalid:
		case !t.Disturbed:
			quiet[t.way()]++
		case quiet[t.way()] >= outvoted:
			continue
		}
		out = append(out, t)
	}
	slices.Reverse(out)
	return out
}

// Newest returns the figures of the last valid trial of each path alone: its current latency, from fewer
// packets.
func (w *Window) Newest() ([]v1alpha1.Figure, error) { return w.figures(w.newest(1)) }

// Restart drops the trials of a path before its last two valid ones: the path has changed.
func (w *Window) Restart(way Way) {
	valid := w.valid(way)
	if len(valid) < 2 {
		return
	}
	first := w.trials[valid[len(valid)-2]].At
	w.trials = slices.DeleteFunc(w.trials, func(t Trial) bool { return t.way() == way && t.At.Before(first) })
	w.change(way, first)
}

// change keeps when a path has changed.
func (w *Window) change(way Way, at time.Time) {
	if w.changed == nil {
		w.changed = map[Way]time.Time{}
	}
	w.changed[way] = at
}

// valid returns where the valid trials of a path are, in the order in which they were made.
func (w *Window) valid(way Way) []int {
	var at []int
	for i := range w.trials {
		if t := &w.trials[i]; t.way() == way && t.Verdict != result.Invalid {
			at = append(at, i)
		}
	}
	return at
}

// beside returns where a trial lies beside the valid ones before it. Disturbed ones tell the path's level only if there
// are no others.
func (w *Window) beside(trial int, before []int) Shift {
	var quiet, all []Level
	for _, at := range before {
		t := &w.trials[at]
		all = append(all, t.Level)
		if !t.Disturbed {
			quiet = append(quiet, t.Level)
		}
	}
	if len(quiet) > 0 {
		all = quiet
	}
	return w.trials[trial].Level.Beside(all)
}

// Suspect reports whether the last trial of a path lies apart from those before it: then the path may have changed, and
// another trial tells.
func (w *Window) Suspect(way Way) bool {
	valid := w.valid(way)
	last := len(valid) - 1
	return last > 0 && w.beside(valid[last], valid[:last]) != Shift{}
}

// Settle looks for a change of a path, after each of its trials: the last two lie apart from those before them, on the
// same side. What was measured before the change is dropped. If the last one contradicts the one before it, that was
// disturbed.
func (w *Window) Settle(way Way) Direction {
	valid := w.valid(way)
	last := len(valid) - 1
	if last < 2 {
		return Same
	}
	first := w.beside(valid[last-1], valid[:last-1])
	if found := first.agreed(w.beside(valid[last], valid[:last-1])); found != Same {
		w.Restart(way)
		return found
	}
	if first.disturbed() {
		w.trials[valid[last-1]].Disturbed = true
	}
	return Same
}

// JustChanged reports whether the last two trials of a path are those that have shown its change.
func (w *Window) JustChanged(way Way) bool {
	valid := w.valid(way)
	return len(valid) == 2 && w.trials[valid[0]].At.Equal(w.changed[way])
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
		f.QuietNs = t.Level.QuietNs
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
