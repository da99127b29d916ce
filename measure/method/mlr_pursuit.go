package method

import (
	"slices"

	"nines.dev/nines/result"
)

// pursuit takes one goal through its targets.
type pursuit struct {
	goal  Goal
	chain []target
	at    int // the current target
	// stride is the width of the next expansion, in rungs; 0 before the first.
	stride int
	// blind is set while the forwarding rate gives no guess.
	blind bool
	// focus is the load that the target is measuring, kept until it is decided.
	focus *int
	// hintLow and hintHigh are the bounds of the preceding target, if it had any.
	hintLow, hintHigh *int
}

// next returns the trial that the goal wants, or false if it has reached its width or the end of
// the range.
func (p *pursuit) next(h *hunt) (wanted, bool) {
	for {
		t := p.chain[p.at]
		low, high := h.bounds(t)
		if low != 0 && high != h.ladder.rungs-1 && (low == h.noLower() || high == noUpper || low-high > t.steps) {
			if p.focus == nil || *p.focus >= low || *p.focus <= high {
				rung := p.rung(h, t, low, high)
				p.focus = &rung
			}
			return wanted{rung: *p.focus, duration: t.trial, final: p.at == len(p.chain)-1, goal: p.goal.Name}, true
		}
		if p.at == len(p.chain)-1 {
			return wanted{}, false
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
//
// It first tries the bounds of the preceding, coarser target. Then it goes where the forwarding
// rate of the upper bound suggests the goal is, and from there in strides that double: a good guess
// costs few trials, and a bad one at most twice as many as bisection.
func (p *pursuit) rung(h *hunt, t target, low, high int) int {
	for _, hint := range []*int{p.hintLow, p.hintHigh} {
		if hint != nil && *hint < low && *hint > high {
			return *hint
		}
	}
	last := h.ladder.rungs - 1
	switch {
	case low == h.noLower() && high == noUpper:
		return 0
	case high == noUpper:
		return max(low-p.expand(t.steps), 0)
	}
	guess, sure := p.forwarded(h, high)
	if !sure {
		// It forwarded almost nothing, which says little about lower loads: try half the rate.
		guess = high + p.expand(h.ladder.steps(0.5))
	} else if p.blind {
		p.stride = t.steps
	}
	p.blind = !sure
	switch {
	case low == h.noLower():
		return min(max(guess, high+p.expand(t.steps)), last)
	case guess >= low: // just above the lower bound
		return max(low-p.expand(t.steps), middle(low, high, t.steps))
	default:
		return min(max(guess, high+p.expand(t.steps)), middle(low, high, t.steps))
	}
}

// expand is how far to go beyond a bound: steps rungs at first, then twice as far each time.
func (p *pursuit) expand(steps int) int {
	stride := max(steps, p.stride)
	p.stride = 2 * stride
	return stride
}

// forwarded estimates from the upper bound at this rung the load whose loss is the goal's, and
// whether enough was forwarded for that.
//
// One load is enough if the network forwards its maximum there. Many networks forward less under
// higher load, and some lose a little long before overload: with a second, higher load, the line
// through the lost packets at both is more accurate.
func (p *pursuit) forwarded(h *hunt, rung int) (int, bool) {
	rate, loss := h.ladder.rate(rung), h.loss(rung)
	share := 1.0 // additional loss per additional packet sent
	for _, higher := range slices.Backward(h.tried) {
		if rung-higher < 2*p.chain[p.at].steps || h.loss(higher) > sureLoss {
			continue
		}
		above := h.ladder.rate(higher)
		if slope := (above*h.loss(higher) - rate*loss) / (above - rate); slope > loss {
			share = slope
		}
		break
	}
	// From rate down to the answer x: rate·loss − share·(rate − x) = ratio·x.
	x := rate * (share - loss) / (share - p.goal.LossRatio)
	return h.ladder.below(x), loss < sureLoss
}

// sureLoss is the loss above which a trial says nothing about the possible forwarding rate.
const sureLoss = 0.99

// loss is the median loss ratio of a rung's trials.
func (h *hunt) loss(rung int) float64 {
	losses := make([]float64, len(h.trials[rung]))
	for i, m := range h.trials[rung] {
		losses[i] = m.LossRatio()
	}
	return result.Median(losses)
}

// middle halves the gap between two bounds, with a power-of-two number of widths below where that
// saves a step.
func middle(low, high, steps int) int {
	half := (low - high) / 2
	if whole := half / steps * steps; whole > 0 && low-high > 2*steps {
		half = whole
	}
	return low - half
}
