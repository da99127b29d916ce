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

// The same for the tail, which differs more: a change is at least leastTailChange, found beside at least fewTails trials.
const (
	leastTailChange = 3
	usualTailSpread = 1.5
	tailSpreads     = 3
	fewTails        = 6
)

// Shift is where a trial lies beside those before it: its body and its tail.
type Shift struct{ Body, Tail Direction }

// agreed returns what two trials show of a path, both beside the same ones: that it has changed, if both lie apart on the same
// side, by their bodies or by their tails.
func (s Shift) agreed(next Shift) Direction {
	switch {
	case s.Body != Same && s.Body == next.Body:
		return s.Body
	case s.Tail != Same && s.Tail == next.Tail:
		return s.Tail
	}
	return Same
}

// disturbed reports whether the trial may show something that was not the path, if the next one does not agree. A tail may
// be short by chance.
func (s Shift) disturbed() bool { return s.Body != Same || s.Tail == Slower }

// Beside returns where a level lies beside those of trials before it. Its undisturbed part tells. A disturbance only makes
// packets slower, so nothing but the path makes that part faster; a slower path makes the median slower, too. Without a
// level to compare with, it is the same.
func (l Level) Beside(before []Level) Shift {
	before = slices.DeleteFunc(slices.Clone(before), func(b Level) bool { return !b.Known() })
	if len(before) == 0 || !l.Known() {
		return Shift{}
	}
	before = before[max(0, len(before)-compared):]
	shift := Shift{Tail: l.tailBeside(before)}
	least := slices.MinFunc(before, func(a, b Level) int { return cmp.Compare(a.P50Ns, b.P50Ns) })
	switch apart := l.apart(before); {
	case apart > 1 && l.P50Ns > least.P50Ns:
		shift.Body = Slower
	case apart < -1:
		shift.Body = Faster
	}
	return shift
}

// apart returns how far the undisturbed part lies from those before it: beyond -1 to 1 the path may have changed.
func (l Level) apart(before []Level) float64 {
	var logs []float64
	for _, b := range before {
		logs = append(logs, math.Log(float64(b.QuietNs)))
	}
	center, off := around(logs)
	least := math.Log(mostChange)
	if len(logs) >= fewTrials {
		least = min(max(spreads*spread(off, usualSpread), math.Log(leastChange)), least)
	}
	return (math.Log(float64(l.QuietNs)) - center) / least
}

// tailBeside returns where the tail lies. The one before that lies farthest off does not count for their spread: a single
// disturbed trial would hide changes for as long as it is compared with.
func (l Level) tailBeside(before []Level) Direction {
	var logs []float64
	for _, b := range before {
		if b.TailNs > 0 {
			logs = append(logs, math.Log(float64(b.TailNs)))
		}
	}
	if len(logs) < fewTails || l.TailNs <= 0 {
		return Same
	}
	center, off := around(logs)
	slices.Sort(off)
	least := max(tailSpreads*spread(off[:len(off)-1], usualTailSpread), math.Log(leastTailChange))
	switch at := math.Log(float64(l.TailNs)) - center; {
	case at > least:
		return Slower
	case at < -least:
		return Faster
	}
	return Same
}

// around returns the middle of values, and how far each lies from it.
func around(values []float64) (center float64, off []float64) {
	slices.Sort(values)
	center = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	for _, v := range values {
		off = append(off, math.Abs(v-center))
	}
	return center, off
}

// spread returns how much trials differ, by how far each lies from their middle, and by the factor that is usual.
func spread(off []float64, usual float64) float64 {
	prior := math.Log(usual)
	squares := priorTrials * prior * prior
	for _, o := range off {
		squares += o * o
	}
	return math.Sqrt(squares / float64(len(off)+priorTrials))
}
