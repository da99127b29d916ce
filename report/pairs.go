package report

import "nines.dev/nines/result"

// maxPagePairs limits the trials whose course over time is on the page: about 15 kB each.
const maxPagePairs = 200

// pagePair is the course of a pair of captures over time, and its slowest packets.
type pagePair struct {
	Trial string `json:"trial"`
	result.Pair
}

func (p *pageData) addPairs(r *result.Result) {
	p.Pairs = []pagePair{}
	for _, trial := range r.Shown() {
		pair, err := r.TrialFolder(trial.ID).Pair()
		switch {
		case err != nil:
			p.problem(err)
		case pair == nil:
		case len(p.Pairs) == maxPagePairs:
			p.leftOut([]string{"courses over time"})
		default:
			p.Pairs = append(p.Pairs, pagePair{trial.ID, *pair})
		}
	}
}
