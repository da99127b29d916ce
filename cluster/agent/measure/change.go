package measure

import (
	"cmp"
	"math"
	"slices"
)

// Direction is where a level lies beside those before it.
type Direction int

// The directions.
const (
	Slower Direction = 1
	Same   Direction = 0
	Faster Direction = -1
)

// How far a level must lie from those before it, as a factor. Trials of one path differ, as hosts are never twice the
// same, so the distance follows from how much those before differed, within bounds: nobody places pods by less than
// leastChange, and twice the latency is always a change. That trials differ by usualSpread counts as priorTrials of
// them. change_test.go has what these find in recorded trials.
const (
	leastChange = 1.25
	mostChange  = 1.7
	usualSpread = 1.1
	priorTrials = 3
	// spreads is how many times the spread of the trials before a change is; of fewer than fewTrials, which do not tell
	// their spread, mostChange is.
	spreads   = 7
	fewTrials = 6
	// compared is how many trials a level is compared with at most: a path that drifts slowly does not change.
	compared = 12
)

// Beside returns where a level lies beside those of trials before it. Its undisturbed part tells. A disturbance only makes
// packets slower, so nothing but the path makes that part faster; a slower path makes the median slower, too. Without a
// level to compare with, it is the same.
func (l Level) Beside(before []Level) Direction {
	before = slices.DeleteFunc(slices.Clone(before), func(b Level) bool { return !b.Known() })
	if len(before) == 0 || !l.Known() {
		return Same
	}
	before = before[max(0, len(before)-compared):]
	least := slices.MinFunc(before, func(a, b Level) int { return cmp.Compare(a.P50Ns, b.P50Ns) })
	switch apart := l.apart(before); {
	case apart > 1 && l.P50Ns > least.P50Ns:
		return Slower
	case apart < -1:
		return Faster
	}
	return Same
}

// apart returns how far the undisturbed part lies from those before it: beyond -1 to 1 the path may have changed.
func (l Level) apart(before []Level) float64 {
	var logs []float64
	for _, b := range before {
		logs = append(logs, math.Log(float64(b.QuietNs)))
	}
	slices.Sort(logs)
	center := (logs[(len(logs)-1)/2] + logs[len(logs)/2]) / 2
	prior := math.Log(usualSpread)
	squares := priorTrials * prior * prior
	for _, at := range logs {
		squares += (at - center) * (at - center)
	}
	spread := math.Sqrt(squares / float64(len(logs)+priorTrials))
	least := math.Log(mostChange)
	if len(logs) >= fewTrials {
		least = min(max(spreads*spread, math.Log(leastChange)), least)
	}
	return (math.Log(float64(l.QuietNs)) - center) / least
}
