package nodefit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// Figure is a measurement made ready for many comparisons: percentiles as numbers, no histogram,
// and checked once for contradictions in itself.
type Figure struct {
	Tier, Peer string
	Way        v1alpha1.Way
	Points     []Point
	Noisy      bool
	MeasuredAt time.Time
	ValidUntil time.Time
	// ChangedAt is when the path was found changed; zero if it was not.
	ChangedAt time.Time
	// Fault is why the figure says nothing, whatever the time; empty for a sound one.
	Fault string
	// NoBounds is why its percentiles without a bound have none.
	NoBounds string
}

// Point is one percentile, in rising order of Percent among its figure's.
type Point struct {
	P       string
	Percent float64
	ValueNs int64
	// BoundNs is how large the percentile may be; 0 where nothing bounds it.
	BoundNs int64
}

// Read makes figures ready.
func Read(from []v1alpha1.Figure) []Figure {
	if len(from) == 0 {
		return nil
	}
	out := make([]Figure, len(from))
	for i := range from {
		out[i] = read(&from[i])
	}
	return out
}

func read(from *v1alpha1.Figure) Figure {
	f := Figure{
		Tier: from.Tier, Peer: from.Peer, Way: from.Way, Noisy: from.Verdict == v1alpha1.Noisy,
		MeasuredAt: from.MeasuredAt.Time, ValidUntil: from.ValidUntil.Time,
		NoBounds: "too few slow packets, or in too few bursts",
	}
	if from.ChangedAt != nil {
		f.ChangedAt = from.ChangedAt.Time
	}
	if outdated(from) {
		f.NoBounds = "an older agent took packets as independent, so its bounds do not count"
	}
	f.Fault = f.readPoints(from)
	switch {
	case from.Verdict == v1alpha1.Invalid:
		f.Fault = "its last measurement is invalid"
		if len(from.Reasons) > 0 {
			f.Fault += ": " + from.Reasons[0]
		}
	case from.Verdict != v1alpha1.Clean && from.Verdict != v1alpha1.Noisy:
		f.Fault = fmt.Sprintf("its verdict %q is unknown", from.Verdict)
	case f.Fault == "" && !f.MeasuredAt.Before(f.ValidUntil):
		f.Fault = "it ends before it was measured"
	case f.Fault == "" && len(f.Points) == 0:
		f.Fault = "it has no percentile"
	}
	return f
}

// outdated reports whether an agent from before the bounds by time blocks has measured the figure: it knew all packets,
// but not when they arrived. Its bounds were too low where one pause delays many packets.
func outdated(from *v1alpha1.Figure) bool { return len(from.Histogram) > 0 && len(from.Spread) == 0 }

// Slim drops the packets of a figure, and leaves what Read makes of it: of a histogram without the spread over time
// stays that there is one.
func Slim(f *v1alpha1.Figure) {
	f.Newest = nil
	if outdated(f) {
		f.Histogram = []byte{f.Histogram[0]}
		return
	}
	f.Histogram, f.Spread = nil, nil
}

// readPoints returns what contradicts among the percentiles.
func (f *Figure) readPoints(from *v1alpha1.Figure) string {
	for _, p := range from.Percentiles {
		percent, err := strconv.ParseFloat(p.P, 64)
		if err != nil || percent <= 0 || percent >= 100 {
			return fmt.Sprintf("%q is not a percentile", p.P)
		}
		point := Point{P: strconv.FormatFloat(percent, 'f', -1, 64), Percent: percent, ValueNs: p.ValueNs}
		if p.UpperNs != nil {
			if *p.UpperNs < p.ValueNs {
				return fmt.Sprintf("its p%s is above the bound of itself", p.P)
			}
			if !outdated(from) {
				// No bound is 0, so a bound of nothing is a nanosecond.
				point.BoundNs = max(*p.UpperNs+from.ErrorNs, 1)
			}
		}
		if from.MaxNs > 0 && p.ValueNs > from.MaxNs {
			return fmt.Sprintf("its p%s is above its maximum", p.P)
		}
		// 1/(1−p) packets, so that one at least is beyond the percentile. The division is not
		// exact, so a count that is right by a millionth passes.
		if float64(from.Count)*(100-percent) < 100*(1-1e-6) {
			return fmt.Sprintf("%d packets cannot tell its p%s", from.Count, p.P)
		}
		f.Points = append(f.Points, point)
	}
	slices.SortStableFunc(f.Points, func(a, b Point) int { return cmp.Compare(a.Percent, b.Percent) })
	for i := 1; i < len(f.Points); i++ {
		if low, high := f.Points[i-1], f.Points[i]; high.ValueNs < low.ValueNs {
			return fmt.Sprintf("its p%s is below its p%s", high.P, low.P)
		}
	}
	return ""
}

// at returns the percentile that answers for the one asked: itself, or the next above that the
// figure has, which is no smaller.
func (f *Figure) at(percent float64) (Point, bool) {
	for _, point := range f.Points {
		if point.Percent >= percent-1e-9 {
			return point, true
		}
	}
	return Point{}, false
}

// clockAllowance is how far the clock of a node may be ahead of the reader's before its figures
// count as wrong. Kubernetes itself wants the clocks of a cluster in step.
const clockAllowance = time.Minute

// State tells what a figure is worth at a time.
type State int

// The states, the better first.
const (
	Fresh State = iota
	Stale
	Ahead // measured in the future: the node's clock is wrong, and with it the age
	Faulty
)

// StateAt is what the figure is worth now.
func (f *Figure) StateAt(now time.Time) State {
	switch {
	case f.Fault != "":
		return Faulty
	case f.MeasuredAt.After(now.Add(clockAllowance)):
		return Ahead
	case !now.Before(f.ValidUntil):
		return Stale
	}
	return Fresh
}

// forEver is later than any figure ends.
var forEver = time.Unix(1<<40, 0)

// Best is the smallest bound of the highest percentile that any tier within the node has, of
// those that are fresh: how fast the node can be. 0 if nothing is known. No such figure changes its state until a
// time, at which one gets too old, or one that is of the future now begins to count.
func Best(figures []Figure, now time.Time) (fastest time.Duration, until time.Time) {
	best := int64(math.MaxInt64)
	until = forEver
	for i := range figures {
		f := &figures[i]
		if f.Peer != "" {
			continue
		}
		switch f.StateAt(now) {
		case Faulty, Stale:
			continue
		case Ahead:
			if from := f.MeasuredAt.Add(-clockAllowance); from.Before(until) {
				until = from
			}
			continue
		case Fresh:
			if f.ValidUntil.Before(until) {
				until = f.ValidUntil
			}
		}
		if point, ok := f.at(scarcePercent); ok && point.BoundNs > 0 {
			best = min(best, point.BoundNs)
		}
	}
	if best == math.MaxInt64 {
		return 0, until
	}
	return time.Duration(best), until
}

// scarcePercent is where tiers differ clearly, and which a short measurement supports.
const scarcePercent = 99
