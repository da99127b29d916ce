package method

import "nines.dev/nines/result"

// pursuit is the way of one goal through its targets.
type pursuit struct {
	goal  Goal
	chain []target
	at    int // the target that is sought now
	// stride is the width of the next expansion, in rungs; 0 before the first.
	stride int
	// focus is the load that the target was measuring, kept until it is decided.
	focus *int
	// hintLow and hintHigh are the bounds of the target before, where it had any.
	hintLow, hintHigh *int
}

// next is the trial that the goal wants, and false when it has reached its width, or
// the end of the range.
func (p *pursuit) next(h *hunt) (wish, bool) {
	for {
		t := p.chain[p.at]
		low, high := h.bounds(t)
		if low != 0 && high != h.ladder.rungs-1 && (low == h.noLower() || high == noUpper || low-high > t.steps) {
			if p.focus == nil || *p.focus >= low || *p.focus <= high {
				rung := p.rung(h, t, low, high)
				p.focus = &rung
			}
			return wish{rung: *p.focus, duration: t.trial, goal: p.goal.Name}, true
		}
		if p.at == len(p.chain)-1 {
			return wish{}, false
		}
		p.at++
		p.stride, p.focus = 0, nil
		p.hintLow, p.hintHigh = nil, nil
		if low != h.noLower() {
			p.hintLow = &low
		}
		if high != noUpper {
			p.hintHigh = &high
		}
	}
}

// rung picks the load to measure between the bounds low and high, both exclusive.
func (p *pursuit) rung(h *hunt, t target, low, high int) int {
	inside := func(rung int) bool { return rung < low && rung > high }
	// The bounds of the coarser target before are where those of this one should be.
	if p.hintLow != nil && low == h.noLower() && inside(*p.hintLow) {
		return *p.hintLow
	}
	if p.hintHigh != nil && high == noUpper && inside(*p.hintHigh) {
		return *p.hintHigh
	}
	switch {
	case low == h.noLower() && high == noUpper:
		return 0
	case low == h.noLower():
		if guess := p.forwarded(h, high); p.stride == 0 && inside(guess) {
			p.stride = t.steps
			return guess
		}
		return min(high+p.expand(t), h.ladder.rungs-1)
	case high == noUpper:
		return max(low-p.expand(t), 0)
	}
	return middle(low, high, t.steps)
}

// expand is how far to go beyond the only bound: the target's width, then twice as far
// each time.
func (p *pursuit) expand(t target) int {
	p.stride = max(t.steps, 2*p.stride)
	return p.stride
}

// forwarded is the load at which the loss would be the goal's, if the network forwards
// no more than it did at this one.
func (p *pursuit) forwarded(h *hunt, rung int) int {
	trials := h.trials[rung]
	losses := make([]float64, len(trials))
	for i, m := range trials {
		losses[i] = m.loss
	}
	return h.ladder.below(h.ladder.rate(rung) * (1 - result.Median(losses)) / (1 - p.goal.LossRatio))
}

// middle halves the gap between two bounds, so that the part below is a whole number
// of widths where that saves a step.
func middle(low, high, steps int) int {
	half := (low - high) / 2
	if whole := half / steps * steps; whole > 0 && low-high > 2*steps {
		half = whole
	}
	return low - half
}
