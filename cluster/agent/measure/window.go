package measure

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
)

// Window is the trials of a node in the last while. A figure is of all of them together: a trial of
// some seconds has too few packets for the percentiles that matter.
type Window struct {
	// Length is how far back trials count, and Valid how long a figure may be used after its last
	// trial.
	Length, Valid time.Duration
	trials        []Trial
}

// Add adds a trial.
func (w *Window) Add(t Trial) { w.trials = append(w.trials, t) }

// Figures are the figures at a time, by tier in the order of the alphabet. Trials that have left
// the window are forgotten; a tier without any has no figure, and counts as unknown.
func (w *Window) Figures(now time.Time) ([]v1alpha1.Figure, error) {
	w.trials = slices.DeleteFunc(w.trials, func(t Trial) bool { return now.Sub(t.At) > w.Length })
	byTier := map[string][]Trial{}
	var tiers []string
	for _, t := range w.trials {
		if byTier[t.Tier] == nil {
			tiers = append(tiers, t.Tier)
		}
		byTier[t.Tier] = append(byTier[t.Tier], t)
	}
	slices.Sort(tiers)
	var figures []v1alpha1.Figure
	for _, tier := range tiers {
		f, err := w.figure(byTier[tier])
		if err != nil {
			return nil, fmt.Errorf("figure of %s: %w", tier, err)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// figure merges the trials of a tier, the last of which is the newest.
func (w *Window) figure(trials []Trial) (v1alpha1.Figure, error) {
	last := trials[len(trials)-1]
	f := v1alpha1.Figure{
		Tier: last.Tier, Way: v1alpha1.OneWay, // one clock: within the node
		RatePPS: last.Load.RatePPS, FrameBytes: last.Load.FrameBytes,
		MeasuredAt: metav1.NewTime(last.At), ValidUntil: metav1.NewTime(last.At.Add(w.Valid)),
	}
	merged := result.NewHistogram()
	valid := 0
	noisy := false
	for _, t := range trials {
		if t.Verdict == result.Invalid {
			continue
		}
		valid++
		if t.Verdict == result.Noisy {
			noisy = true
			f.Reasons = addReasons(f.Reasons, t.Reasons)
		}
		merged.Merge(t.Latency)
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
	return f, describe(&f, merged)
}

// mostReasons bounds what an object in the API server says of why a figure is noisy.
const mostReasons = 5

func addReasons(to, from []string) []string {
	for _, r := range from {
		if len(to) < mostReasons && !slices.Contains(to, r) {
			to = append(to, r)
		}
	}
	return to
}

// describe writes a histogram's count, percentiles and itself into a figure.
func describe(f *v1alpha1.Figure, h *result.Histogram) error {
	f.Count = int64(h.Count())
	if f.Count == 0 {
		return nil
	}
	f.MaxNs = h.Ranked(h.Count())
	for _, named := range result.NamedPercentiles() {
		if !result.Supports(named.P, h.Count()) {
			continue
		}
		ranks := confidence.PercentileRanks(h.Count(), named.P, confidence.Level)
		p := v1alpha1.Percentile{P: percentOf(named.P), ValueNs: h.Ranked(ranks.Point)}
		if ranks.High > 0 {
			upper := h.Ranked(ranks.High)
			p.UpperNs = &upper
		}
		f.Percentiles = append(f.Percentiles, p)
	}
	encoded, err := h.Encode()
	if err != nil {
		return err
	}
	f.Histogram, err = base64.StdEncoding.DecodeString(encoded)
	return err
}

// percentOf is a part as people write a percentile: 0.999 is "99.9". The parts of
// NamedPercentiles have at most six nines.
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
