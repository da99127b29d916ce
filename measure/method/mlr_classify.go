package method

import (
	"cmp"
	"slices"
	"time"
)

// measured is a trial at a load: what came of it, and the duration that it was given.
type measured struct {
	Outcome
	duration time.Duration
}

// class is how the trials classify a load for a target.
type class int

const (
	undecided class = iota
	lower           // a lower bound
	upper           // an upper bound
)

// classify classifies a load for a target: RFC 9971, appendix A.
//
// Two properties decide how time counts: did the trial have the target's length, and did it lose at
// most the target's loss ratio. Short lossy trials count against a load only as far as short good
// trials do not outweigh them. Times are integer nanoseconds, whose sums are exact: in seconds,
// three trials of 0.1 s would not equal the required 0.3 s.
func (t target) classify(trials []measured) class {
	var fullLow, fullHigh, shortLow, shortHigh float64
	for _, m := range trials {
		lasted := float64(m.duration)
		switch full, low := m.duration >= t.trial, m.LosesAtMost(t.lossRatio); {
		case full && low:
			fullLow += lasted
		case full:
			fullHigh += lasted
		case low:
			shortLow += lasted
		default:
			shortHigh += lasted
		}
	}
	balancing := shortLow * t.exceedRatio / (1 - t.exceedRatio)
	high := fullHigh + max(0, shortHigh-balancing)
	whole := max(fullLow+high, float64(t.sum))
	allowed := whole * t.exceedRatio
	switch {
	case whole-fullLow <= allowed: // even if all of the missing time had much loss
		return lower
	case high > allowed: // even if all of it had little
		return upper
	}
	return undecided
}

// throughput is the conditional throughput of a load that is a lower bound: the forwarding rate of
// the worst trial that still counts, when a fraction ExceedRatio of the time may be worse (RFC
// 9971, appendix B). It also names that trial.
func (t target) throughput(load float64, trials []measured) (pps float64, shown string) {
	full := slices.DeleteFunc(slices.Clone(trials), func(m measured) bool { return m.duration < t.trial })
	slices.SortStableFunc(full, func(a, b measured) int { return cmp.Compare(a.LossRatio(), b.LossRatio()) })
	var sum time.Duration
	for _, m := range full {
		sum += m.duration
	}
	remaining, loss := (1-t.exceedRatio)*float64(max(sum, t.sum)), 1.0
	for i, m := range full {
		if i > 0 && remaining <= 0 {
			break
		}
		loss, shown = m.LossRatio(), m.ID
		remaining -= float64(m.duration)
	}
	if remaining > 0 { // the trials do not cover the time: the rest may have lost all
		loss = 1
	}
	return load * (1 - loss), shown
}
