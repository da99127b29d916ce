package report

import "nines.dev/nines/result"

// pageVariants is what the page shows of a trial with two sides.
type pageVariants struct {
	ID        string   `json:"id"`
	Sentences []string `json:"sentences"`
	// Beside says how both ran on the one host.
	Beside []string `json:"beside"`
	// Sides are a and b, with their curves.
	Sides []pageVariant `json:"sides"`
	// Bands are the intervals of the differences b − a of whole percentiles, in the order of these.
	Bands []pageBand `json:"bands"`
}

// pageVariant is a side with its latencies; nil where its file is missing.
type pageVariant struct {
	Label    string `json:"label"`
	Settings string `json:"settings"`
	Curve    *Curve `json:"curve"`
}

// pageBand is the interval of a difference, in ns, at the percentile whose 1/(1−p) is X.
type pageBand struct {
	X     float64 `json:"x"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// addDuets adds the trials with two sides.
func (p *pageData) addDuets(r *result.Result) {
	p.Duets = []pageVariants{}
	for _, t := range duetTrials(r.Shown()) {
		one := pageVariants{ID: t.ID, Sentences: DuetSentences(t.Duet), Beside: t.Duet.Beside, Sides: []pageVariant{}, Bands: bandsOf(t.Duet)}
		for i, s := range t.Streams {
			side := pageVariant{Label: t.Duet.Sides[i].Label, Settings: t.Duet.Sides[i].Settings}
			if latency, err := r.TrialFolder(t.ID).StreamLatency(s.Name); err != nil {
				p.problem(err)
			} else {
				side.Curve = ThinCurve(latency)
			}
			one.Sides = append(one.Sides, side)
		}
		p.Duets = append(p.Duets, one)
	}
}

// bandsOf are the intervals of the whole percentiles, the lowest first.
func bandsOf(d *result.Duet) []pageBand {
	list := []pageBand{}
	for _, one := range []struct {
		quantity string
		x        float64
	}{{"p50", 2}, {"p90", 10}, {"p99", 100}, {"p99.9", 1000}} {
		for _, c := range d.Comparisons {
			if c.Quantity == one.quantity && c.Difference != nil {
				list = append(list, pageBand{one.x, c.Difference.Value, c.Difference.Low, c.Difference.High})
			}
		}
	}
	return list
}
