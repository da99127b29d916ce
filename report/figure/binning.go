package figure

import (
	"fmt"
	"math"
	"slices"
)

const (
	// linearBins is roughly the number of bins of equal width. The recording's are narrower than 1/1024 of their value,
	// so each bin covers several whole ones and no comb appears.
	linearBins = 100
	// binsPerDecade makes a bin 12 % wide: a median of 4 µs and a tail of milliseconds both have a shape.
	binsPerDecade = 20
)

// binning divides durations into bins.
type binning struct {
	widthNs int64 // of equal bins; 0: logarithmic ones
}

// equalBins are those of a range up to top, each of whole bins of published files.
func equalBins(all []counted, top int64) binning {
	widest := int64(1)
	for _, c := range all {
		widest = max(widest, c.binNs)
	}
	width := int64(math.Ceil(niceStep(float64(top) / linearBins)))
	return binning{(width + widest - 1) / widest * widest}
}

// fits reports whether logarithmic bins are at least as wide as the bins of published files.
func (b binning) fits(all []counted) bool {
	return !slices.ContainsFunc(all, func(c counted) bool {
		least := b.index(max(slices.Min(c.values), 1))
		return float64(c.binNs) > b.edge(least+1)-b.edge(least)
	})
}

func (b binning) index(ns int64) int64 {
	if b.widthNs > 0 {
		return ns / b.widthNs
	}
	return int64(math.Floor(math.Log10(float64(max(ns, 1)))*binsPerDecade + 1e-9))
}

// edge is where a bin begins, in ns.
func (b binning) edge(index int64) float64 {
	if b.widthNs > 0 {
		return float64(index * b.widthNs)
	}
	return math.Pow(10, float64(index)/binsPerDecade)
}

// axes are those of durations from low to top in these bins, and of the most packets in one. A bin is divide ns in the
// axis' unit.
func (f *Figure) binAxes(b binning, what string, low, top int64, most float64, unit string, divide float64) {
	title := what + " (" + unit + ")"
	end := b.edge(b.index(top-1)+1) / divide
	counts := fmt.Sprintf("packets in each bin (%d a decade)", binsPerDecade)
	if b.widthNs > 0 {
		counts = fmt.Sprintf("packets in each %s %s", numeral(float64(b.widthNs)/divide), unit)
		f.X = linearAxis(title, 0, end)
		f.X.Max = end
	} else {
		f.X = logAxis(title, b.edge(b.index(low))/divide, end)
	}
	f.X.Ticks = slices.DeleteFunc(f.X.Ticks, func(t Tick) bool { return t.At > f.X.Max*(1+1e-9) })
	f.Y = logAxis(counts, 1, max(most, 10))
	f.Y.Min = floor
	for i, t := range f.Y.Ticks {
		if t.Label != "" && t.At >= 1e6 {
			f.Y.Ticks[i].Label = numeral(t.At/1e6) + " M"
		}
	}
}
