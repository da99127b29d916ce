package extreme

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Options of an analysis; the zero value asks for the 99.99999th percentile.
type Options struct {
	// P is the percentile as a fraction; 0 is Default.
	P float64
	// Seed of the bootstraps; the same seed gives the same answer.
	Seed uint64
}

// Default is the percentile that nines is named after.
const Default = 0.9999999

// Tail is what a sample says about a percentile that it may not reach.
type Tail struct {
	// P is the requested percentile, Total the number of values.
	P     float64 `json:"p"`
	Total uint64  `json:"total"`
	// Largest is the largest percentile of whole nines that the count supports directly.
	Largest *Direct `json:"largest_supported"`
	// Asked is P read off directly; nil where the count does not support it.
	Asked *Direct `json:"asked_directly"`
	// Estimate is the answer of the fit; nil where it is refused.
	Estimate *Estimate `json:"estimate"`
	// Refused are the reasons why there is no estimate.
	Refused []string `json:"refused"`
	// Fit is at the chosen threshold, even if it was refused; nil for none.
	Fit *ChosenFit `json:"fit"`
	// Ladder has all thresholds that were tried, lowest first.
	Ladder []Step `json:"ladder"`
}

// Estimate is an extrapolated percentile.
type Estimate struct {
	Value float64 `json:"value"`
	Interval
	Level float64 `json:"level"`
	// Method is "profile likelihood" or "cluster bootstrap".
	Method string `json:"method"`
	// Beyond is how many times the measured number of packets the percentile needs.
	Beyond float64 `json:"beyond_count"`
}

// Step is one threshold of the ladder.
type Step struct {
	Threshold   float64 `json:"threshold"`
	Exceedances int     `json:"exceedances"`
	Clusters    int     `json:"clusters"`
	// Index is the extremal index: 1 if exceedances do not come in clusters.
	Index float64 `json:"extremal_index"`
	// Tied is the largest fraction of the exceedances that share one value.
	Tied float64 `json:"tied"`
	Fit  *Fit    `json:"fit"`
	// Value is the percentile from this fit.
	Value    float64   `json:"value"`
	Goodness *Goodness `json:"goodness"`
	// Against says why the threshold cannot be used; empty if it can.
	Against string `json:"against,omitempty"`
}

// ChosenFit is the fit that the answer rests on.
type ChosenFit struct {
	Step
	// RunNs is the gap without an exceedance that ends a cluster; 0 without clusters.
	RunNs     int64     `json:"cluster_run_ns"`
	Stability Stability `json:"stability"`
	Trend     Trend     `json:"trend"`
	Train     *Train    `json:"train"`
}

// The most exceedances for the lowest threshold of the ladder: more cost time, and reach below the
// tail. Clusters cost one bootstrap per threshold.
const (
	mostExceedances = 20_000
	mostClustered   = 5_000
	ladderRatio     = 0.7
	fitDraws        = 200 // for a bootstrap that decides at the level 0.05
	intervalDraws   = 1000
)

// Of analyses a sample.
func Of(s Sample, o Options) Tail {
	if o.P == 0 {
		o.P = Default
	}
	t := Tail{P: o.P, Total: s.Total, Refused: []string{}, Ladder: []Step{}}
	random := rand.New(rand.NewPCG(o.Seed, o.Seed))
	measured := s.direct()
	falling := measured.falling
	t.Largest, t.Asked = measured.at(largestNines(s.Total)), measured.at(o.P)
	q := 1 - o.P
	switch {
	case o.P <= 0 || o.P >= 1 || math.IsNaN(o.P):
		return t.refuse("the percentile must be between 0 and 1, not %g", o.P)
	case s.Total == 0:
		return t.refuse("no packet was measured")
	case len(s.Points) < fewestExceedances:
		return t.refuse("only %d exceedances are known, and a fit needs %d: raise traffic.outliers or measure longer", len(s.Points), fewestExceedances)
	case q*float64(s.Total) >= float64(len(s.Points)):
		return t.refuse("the percentile lies below the %d slowest packets that were kept: raise traffic.outliers", len(s.Points))
	case q*float64(s.Total)*farthest < 1-1e-9:
		return t.refuse("this percentile needs %s packets, %.0f times those measured; nines extrapolates to at most %d times",
			inWords(1/q), 1/(q*float64(s.Total)), farthest)
	}
	t.climb(s, falling, q, random)
	chosen := t.choose()
	if chosen < 0 {
		return t.refuseAll()
	}
	t.answer(s, chosen, q, random)
	return t
}

// rate is the rate of all values, per nanosecond.
func (s Sample) rate() float64 {
	if s.SpanNs <= 0 {
		return 0
	}
	return float64(s.Total) / float64(s.SpanNs)
}

func (t Tail) refuse(format string, args ...any) Tail {
	t.Refused = append(t.Refused, fmt.Sprintf(format, args...))
	return t
}

// climb fits the ladder, from all exceedances up to the fewest.
func (t *Tail) climb(s Sample, falling []float64, q float64, random *rand.Rand) {
	most := mostExceedances
	if cluster(s.Points, s.rate()).clustered() {
		most = mostClustered
	}
	for k := min(len(falling), most); k >= fewestExceedances; k = int(ladderRatio * float64(k)) {
		threshold := s.Floor
		if k < len(falling) {
			threshold = falling[k]
		} else if math.IsInf(threshold, -1) {
			continue // these are all values; the threshold must lie among them
		}
		points := s.above(threshold)
		if len(points) >= fewestExceedances && (len(t.Ladder) == 0 || t.Ladder[len(t.Ladder)-1].Threshold < threshold) {
			t.Ladder = append(t.Ladder, s.step(points, threshold, q, random))
		}
	}
}

func (s Sample) step(points []Point, threshold, q float64, random *rand.Rand) Step {
	found := cluster(points, s.rate())
	ys := excesses(points, threshold)
	step := Step{Threshold: threshold, Exceedances: len(points), Clusters: len(found.Groups), Index: found.Index}
	ties := tied(ys)
	step.Tied = float64(ties) / float64(len(ys))
	switch {
	case step.Clusters < fewestClusters:
		step.Against = fmt.Sprintf("they come in %d clusters only, and a fit needs %d", step.Clusters, fewestClusters)
		return step
	case ties > 2 && step.Tied > mostTied:
		step.Against = fmt.Sprintf("%.0f %% of them have the same value", 100*step.Tied)
		return step
	case q*float64(s.Total) >= float64(len(points)):
		step.Against = "the percentile lies below the threshold"
		return step
	}
	fit, ok := fitPareto(ys)
	if !ok {
		step.Against = "no distribution maximises the likelihood"
		return step
	}
	step.Fit = &fit
	step.Value = quantile(fit.Pareto, threshold, q, s.Total, len(ys))
	var g Goodness
	if found.clustered() {
		g = clusteredGoodness(found.Groups, threshold, fit.Pareto, fitDraws, random)
	} else {
		g = goodness(ys, fit.Pareto)
	}
	step.Goodness = &g
	if !g.Holds() {
		step.Against = fmt.Sprintf("they do not follow a generalised Pareto distribution (Anderson–Darling p = %.2g, Cramér–von Mises p = %.2g)", g.AndersonDarlingP, g.CramerVonMisesP)
	}
	return step
}

// held is how many higher thresholds must fit as well: a tail goes on once it has begun.
const held = 2

// choose returns the lowest threshold that fits along with the next higher ones; −1 for none.
func (t *Tail) choose() int {
	for i := range t.Ladder {
		fits := true
		for _, step := range t.Ladder[i:min(i+1+held, len(t.Ladder))] {
			fits = fits && step.Against == ""
		}
		if fits {
			return i
		}
	}
	return -1
}

// refuseAll says why no threshold will do: the reason of the lowest, which has the most
// exceedances, and that of the highest if it differs.
func (t Tail) refuseAll() Tail {
	if len(t.Ladder) == 0 {
		return t.refuse("no threshold has %d exceedances above it, because too many packets are equally slow", fewestExceedances)
	}
	reasons := []string{}
	for i, step := range t.Ladder {
		last := i == len(t.Ladder)-1
		if (i == 0 || last) && step.Against != "" {
			reasons = append(reasons, fmt.Sprintf("of the slowest %d packets, %s", step.Exceedances, step.Against))
		}
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "those that fit are not next to each other")
	}
	return t.refuse("none of %d thresholds fits: %s", len(t.Ladder), strings.Join(reasons, "; "))
}

// answer checks the chosen threshold and, if it holds, gives the estimate.
func (t *Tail) answer(s Sample, chosen int, q float64, random *rand.Rand) {
	step := t.Ladder[chosen]
	points := s.above(step.Threshold)
	found := cluster(points, s.rate())
	maxima := found.maxima()
	t.Fit = &ChosenFit{Step: step, RunNs: found.RunNs, Stability: t.stability(chosen),
		Trend: trend(maxima, s.SpanNs), Train: train(maxima, step.Threshold, s.SpanNs, random)}
	t.Refused = append(t.Refused, t.Fit.against()...)
	if len(t.Refused) > 0 {
		return
	}
	e := Estimate{Value: step.Value, Level: level, Beyond: 1 / (q * float64(s.Total))}
	var ok bool
	if found.clustered() {
		e.Method = "cluster bootstrap"
		e.Interval, ok = clusterInterval(found.Groups, step.Threshold, q, s.Total, intervalDraws, random)
	} else {
		e.Method = "profile likelihood"
		e.Interval, ok = profileInterval(excesses(points, step.Threshold), *step.Fit, step.Threshold, q, s.Total)
	}
	switch {
	case !ok:
		*t = t.refuse("the exceedances do not bound the percentile: its likelihood does not fall off")
	case e.High > widest*e.Low:
		*t = t.refuse("the interval, %.3g to %.3g, is too wide to be an answer", e.Low, e.High)
	case t.moves(chosen, e.Interval):
		*t = t.refuse("the answer moves with the threshold, from %.3g to %.3g: the tail has not begun, or has several parts",
			t.Fit.Stability.LeastValue, t.Fit.Stability.MostValue)
	default:
		t.Estimate = &e
	}
}

func (t *Tail) stability(chosen int) Stability {
	s := Stability{LeastValue: math.Inf(1), LeastShape: math.Inf(1), MostShape: math.Inf(-1)}
	for _, step := range t.Ladder[chosen:] {
		if step.Against != "" {
			continue
		}
		s.Fits++
		s.LeastValue, s.MostValue = min(s.LeastValue, step.Value), max(s.MostValue, step.Value)
		s.LeastShape, s.MostShape = min(s.LeastShape, step.Fit.Shape), max(s.MostShape, step.Fit.Shape)
	}
	return s
}

// moves reports whether all thresholds up to the one with a third of the exceedances give an answer
// outside the interval. With fewer exceedances that may be chance.
func (t *Tail) moves(chosen int, i Interval) bool {
	near, outside := 0, 0
	for _, step := range t.Ladder[chosen+1:] {
		if step.Fit == nil || 3*step.Exceedances < t.Ladder[chosen].Exceedances {
			continue
		}
		near++
		if step.Value < i.Low || step.Value > i.High {
			outside++
		}
	}
	return near > 0 && near == outside
}

// inWords writes a large number of packets.
func inWords(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1e3, "thousand"}} {
		if n >= unit.size*(1-1e-9) {
			return fmt.Sprintf("%.3g %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f", n)
}
