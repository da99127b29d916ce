package method

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/result"
)

// hunt is a running MLRsearch: what is known about each load, and how far each goal is.
type hunt struct {
	course   *course
	ladder   ladder
	limit    time.Duration
	trials   [][]measured // by rung
	tried    []int        // the rungs that have trials, in rising order
	pursuits []*pursuit
	took     time.Duration
}

// hunt starts a search. The rungs are as far apart as the finest goal's width.
func (o MLRsearch) hunt(c *course) *hunt {
	r := o.Range
	r.Width = o.Goals[0].Width
	for _, g := range o.Goals {
		r.Width = min(r.Width, g.Width)
	}
	h := &hunt{course: c, ladder: newLadder(r), limit: o.Limit}
	h.trials = make([][]measured, h.ladder.rungs)
	for _, g := range o.Goals {
		h.pursuits = append(h.pursuits, &pursuit{goal: g, chain: g.targets(h.ladder, o.Preceding)})
	}
	return h
}

// limitError ends a search that takes too long; the result is what is known by then.
type limitError struct{ limit time.Duration }

func (e *limitError) Error() string {
	return fmt.Sprintf("the trials took more than the search's limit, %s", e.limit)
}

// run measures until every goal has reached its width.
func (h *hunt) run(ctx context.Context) error {
	for {
		next, found := h.next()
		if !found {
			return nil
		}
		if h.took >= h.limit {
			return &limitError{h.limit}
		}
		if err := h.measure(ctx, next); err != nil {
			return err
		}
	}
}

// wanted is a trial that a goal wants.
type wanted struct {
	rung     int
	duration time.Duration
	final    bool // for the goal itself, not a preceding target
	goal     string
}

// before reports whether one trial goes before another.
//
// Trials that lead to the goals come first, shortest first. Of the goals' own trials the longest
// come first, since they count in full for every goal with shorter ones. Of equal trials the one at
// the lower load goes first: if it is too high for one goal, that often saves another goal a trial.
func (w wanted) before(other wanted) bool {
	switch {
	case w.final != other.final:
		return !w.final
	case w.duration != other.duration:
		return (w.duration > other.duration) == w.final
	}
	return w.rung > other.rung
}

// next picks a trial.
func (h *hunt) next() (best wanted, found bool) {
	for _, p := range h.pursuits {
		if w, ok := p.next(h); ok && (!found || w.before(best)) {
			best, found = w, true
		}
	}
	return best, found
}

// measure runs a trial and keeps its result.
func (h *hunt) measure(ctx context.Context, w wanted) error {
	outcome, err := h.course.run(ctx, Load{RatePPS: h.ladder.rate(w.rung), Duration: w.duration, Purpose: "search for " + w.goal})
	if err != nil {
		return err
	}
	h.took += max(outcome.Elapsed, w.duration)
	if at, there := slices.BinarySearch(h.tried, w.rung); !there {
		h.tried = slices.Insert(h.tried, at, w.rung)
	}
	outcome.Latency = nil // only loss counts here, and a search has hundreds of trials
	h.trials[w.rung] = append(h.trials[w.rung], measured{outcome, w.duration})
	return nil
}

// The bounds if there are none: above the highest rung, below the lowest.
const noUpper = -1

func (h *hunt) noLower() int { return h.ladder.rungs }

// bounds returns the relevant bounds of a target: the lowest load that is an upper bound, and the
// highest lower bound below it.
func (h *hunt) bounds(t target) (low, high int) {
	low, high = h.noLower(), noUpper
	for _, rung := range slices.Backward(h.tried) {
		switch t.classify(h.trials[rung]) {
		case upper:
			return low, rung
		case lower:
			low = rung
		}
	}
	return low, high
}

// finding is the search's result for a goal. With an error it is what was known.
func (p *pursuit) finding(h *hunt, err error) result.Finding {
	goal := p.chain[len(p.chain)-1]
	low, high := h.bounds(goal)
	f := result.Finding{Name: p.goal.Name, Unit: "packets/s", Conditions: map[string]any{
		"loss_ratio": p.goal.LossRatio, "exceed_ratio": p.goal.ExceedRatio,
		"final_trial_s": p.goal.FinalTrial.Seconds(), "duration_sum_s": p.goal.DurationSum.Seconds(), "width": p.goal.Width,
	}}
	if high != noUpper {
		f.High = value(h.ladder.rate(high))
	}
	if low != h.noLower() {
		rate := h.ladder.rate(low)
		f.Low = value(rate)
		pps, shown := goal.throughput(rate, h.trials[low])
		f.Value, f.Trial = &pps, shown
	}
	switch {
	case err != nil:
		f.Reason = "the search did not reach its width: " + err.Error()
		f.Value, f.Trial = nil, ""
	case high == h.ladder.rungs-1:
		f.Reason = fmt.Sprintf("even the lowest rate to try, %.0f packets/s, is an upper bound", h.ladder.rate(high))
	case low == 0:
		f.Reason = fmt.Sprintf("the highest rate to try, %.0f packets/s, is a lower bound", h.ladder.rate(low))
		f.AtLeast = h.ladder.r.open()
	case f.Value != nil && goal.classify(withoutUnsent(h.trials[high])) != upper:
		f.Reason, f.AtLeast = boundByGenerator(h.ladder.rate(high)), true
	}
	if f.AtLeast {
		shown := h.trials[low][slices.IndexFunc(h.trials[low], func(m measured) bool { return m.ID == f.Trial })]
		f.Value = value(shown.sustained(*f.Value, shown.duration))
	}
	return f
}

// withoutUnsent are trials as if the packets that the generator did not send had arrived.
func withoutUnsent(trials []measured) []measured {
	all := slices.Clone(trials)
	for i := range all {
		all[i].Outcome = all[i].withoutUnsent()
	}
	return all
}
