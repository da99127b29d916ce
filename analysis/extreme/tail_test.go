package extreme

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// refusedFor reports whether one of the reasons contains the words.
func refusedFor(t Tail, words string) bool {
	return strings.Contains(strings.Join(t.Refused, "; "), words)
}

// The worst 1,000 of a million packets are known, and the seventh nine is asked for, ten times
// beyond them. The interval contains the true value in the stated fraction of cases, less 3
// standard errors, and few good tails are refused.
func TestEstimateHoldsTheTruth(t *testing.T) {
	const cases, total, worst = 40, 1_000_000, 1000
	random := rand.New(rand.NewPCG(1, 1))
	for _, shape := range []float64{-0.2, 0, 0.2, 0.4} {
		truth := trueQuantile(shape, 1000, 1e-7)
		answered, held, below, profiles := 0, 0, 0, 0
		for i := range cases {
			tail := Of(worstOfPareto(random, total, worst, shape, 1000), Options{Seed: uint64(i)})
			if tail.Estimate == nil {
				continue
			}
			answered++
			e := tail.Estimate
			if e.Low <= truth && truth <= e.High {
				held++
			}
			if e.Value < truth {
				below++
			}
			// A few independent tails look clustered by chance.
			if e.Method == "profile likelihood" {
				profiles++
			}
			if e.Low > e.Value || e.High < e.Value || math.Abs(e.Beyond-10) > 1e-6 {
				t.Fatalf("shape %g: %+v", shape, e)
			}
		}
		if profiles < answered*9/10 {
			t.Errorf("shape %g: %d of %d answers are by profile likelihood", shape, profiles, answered)
		}
		if answered < cases*80/100 {
			t.Errorf("shape %g: %d of %d fair tails were answered", shape, answered, cases)
		}
		if share := float64(held) / float64(answered); share < 0.95-3*math.Sqrt(0.95*0.05/float64(answered)) {
			t.Errorf("shape %g: %.3f of the intervals hold the truth", shape, share)
		}
		if part := float64(below) / float64(answered); part < 0.3 || part > 0.7 {
			t.Errorf("shape %g: %.2f of the estimates are too low", shape, part)
		}
	}
}

// Each packet's latency is the greatest of the last eight causes: exceedances come in clusters of
// 8, like those of a pause, and the interval accounts for it.
func movingMaximum(random *rand.Rand, total int, shape float64) []Point {
	causes := make([]float64, total+7)
	for i := range causes {
		causes[i] = paretoValue(shape, 1000)(random)
	}
	points := make([]Point, total)
	for i := range points {
		most := causes[i]
		for _, c := range causes[i+1 : i+8] {
			most = max(most, c)
		}
		points[i] = Point{most, int64(i) * 1000}
	}
	return points
}

func TestClustersWidenTheInterval(t *testing.T) {
	const cases, total, worst = 20, 100_000, 1000
	random := rand.New(rand.NewPCG(6, 6))
	// P(max of 8 > x) = 1 − (1 − S(x))^8.
	truth := trueQuantile(0.1, 1000, -math.Expm1(math.Log1p(-1e-5)/8))
	answered, held := 0, 0
	for i := range cases {
		tail := Of(fromPoints(movingMaximum(random, total, 0.1), worst), Options{P: 0.99999, Seed: uint64(i)})
		if len(tail.Ladder) == 0 || tail.Ladder[0].Index > 0.25 || tail.Ladder[0].Index < 0.07 {
			t.Fatalf("clusters of 8: %+v", tail.Ladder)
		}
		if tail.Estimate == nil {
			continue
		}
		answered++
		e := tail.Estimate
		if e.Method != "cluster bootstrap" || tail.Fit.RunNs <= 0 || tail.Fit.Goodness.By != "bootstrap" {
			t.Fatalf("%+v, fit %+v", e, tail.Fit)
		}
		if e.Low <= truth && truth <= e.High {
			held++
		}
	}
	if answered < cases*70/100 {
		t.Errorf("%d of %d tails in clusters were answered", answered, cases)
	}
	// A percentile bootstrap of a quantile that far out is known to fall short of its level.
	if share := float64(held) / float64(answered); share < 0.75 {
		t.Errorf("%.2f of %d intervals hold the truth", share, answered)
	}
}

func TestRefusals(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	exponential := func(r *rand.Rand) float64 { return 10_000 + 1000*r.ExpFloat64() }
	trending := make([]Point, 100_000)
	bursts := make([]Point, 100_000)
	steal := make([]Point, 100_000)
	for i := range trending {
		at := int64(i) * 1000
		trending[i] = Point{exponential(random) * (1 + float64(i)/100_000), at}
		bursts[i] = Point{exponential(random), at}
		if i > 30_000 && i < 33_000 {
			bursts[i].Value += 2000
		}
		// Twelve pauses of 1 ms: a packet that comes in one waits until its end.
		steal[i] = Point{exponential(random), at}
		if into := i % 8000; into < 100 {
			steal[i].Value = 1e6 - float64(into)*1e4
		}
	}
	for name, c := range map[string]struct {
		sample  Sample
		options Options
		words   string
	}{
		"nothing":        {Sample{}, Options{}, "no packet"},
		"no percentile":  {simulated(random, 1000, 100, exponential), Options{P: 1}, "between 0 and 1"},
		"too far":        {simulated(random, 50_000, 500, exponential), Options{}, "10 million packets"},
		"too few":        {simulated(random, 200_000, 40, exponential), Options{P: 0.99999}, "only 39 exceedances"},
		"below the kept": {simulated(random, 200_000, 1000, exponential), Options{P: 0.99}, "below the 999 slowest"},
		"constant":       {simulated(random, 200_000, 1000, func(*rand.Rand) float64 { return 700 }), Options{P: 0.999999}, "only 0 exceedances"},
		"ties": {simulated(random, 200_000, 1000, func(r *rand.Rand) float64 {
			return 1000 * math.Floor(10+r.ExpFloat64())
		}), Options{P: 0.999999}, "same value"},
		"no packet faster than any other": {simulated(random, 1000, 1000, func(*rand.Rand) float64 { return 5 }), Options{P: 0.9999}, "equally slow"},
		"two causes": {simulated(random, 1_000_000, 1000, func(r *rand.Rand) float64 {
			if r.Float64() < 3e-5 {
				return 400_000 + 20_000*r.NormFloat64() // a pause of the host
			}
			return exponential(r)
		}), Options{}, "thresholds fits"},
		"infinite mean": {worstOfPareto(random, 1_000_000, 1000, 1.6, 1000), Options{P: 0.999999}, "too heavy"},
		"trend":         {fromPoints(trending, 1000), Options{P: 0.999999}, "became more or fewer"},
		"one burst":     {fromPoints(bursts, 1000), Options{P: 0.999999}, ""},
		"steal":         {fromPoints(steal, 1000), Options{P: 0.999999}, "clusters only"},
	} {
		tail := Of(c.sample, c.options)
		if tail.Estimate != nil || len(tail.Refused) == 0 || !refusedFor(tail, c.words) {
			t.Errorf("%s: estimate %+v, refused %q, want %q", name, tail.Estimate, tail.Refused, c.words)
		}
	}
}

// A tail that ends abruptly, such as the latency of a queue that drops the excess.
func TestRefusesAnAbruptEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 10 {
		s := worstOfPareto(random, 1_000_000, 1000, -0.9, 1000)
		if tail := Of(s, Options{}); tail.Estimate != nil {
			t.Errorf("%+v with shape %.2f", tail.Estimate, tail.Fit.Fit.Shape)
		}
	}
}

// inBlocks is the sample with its time blocks: the rest of its packets are as fast as 1 ns, and spread evenly.
func inBlocks(t *testing.T, s Sample) Sample {
	t.Helper()
	const blocks = 100
	counts := make([]map[int64]int64, blocks)
	for i := range counts {
		counts[i] = map[int64]int64{1: int64(s.Total-uint64(len(s.Points))) / blocks}
	}
	counts[0][1] += int64(s.Total-uint64(len(s.Points))) % blocks
	for _, p := range s.Points {
		counts[min(p.AtNs*blocks/s.SpanNs, blocks-1)][int64(p.Value)]++
	}
	var trial []*result.Packed
	for _, block := range counts {
		total := uint64(0)
		var pairs []int64
		for ns, count := range block {
			pairs = append(pairs, indexOf(ns), count)
			total += uint64(count)
		}
		packed, err := result.PackCounts(pairs)
		if err != nil || packed.Count() != total {
			t.Fatalf("%d packets packed, %v", total, err)
		}
		trial = append(trial, packed)
	}
	s.Blocks, s.Lacking = [][]*result.Packed{trial}, ""
	return s
}

// indexOf is the place of a value in HdrHistogram's counts (AbstractHistogram.countsArrayIndex).
func indexOf(ns int64) int64 {
	bucket := int64(max(bits.Len64(uint64(ns))-11, 0))
	return bucket<<10 + ns>>bucket
}

func TestDirectPercentiles(t *testing.T) {
	worst := make([]Point, 1000)
	for i := range worst {
		worst[i] = Point{float64(1_000_000 - i), int64(i) * 7919 % 1_000_003 * 1000}
	}
	tail := Of(inBlocks(t, FromWorst(worst, 1_000_000, 1_000_003_000)), Options{P: 0.9999})
	if tail.Largest == nil || tail.Largest.P != 0.999999 || tail.Largest.Value != 999_999 || tail.Largest.High != nil || !tail.Largest.Open || tail.Largest.Low == nil {
		t.Errorf("largest supported: %+v, want p99.9999 as the second of all, without an upper bound", tail.Largest)
	}
	// p99.99 of a million is at rank 999,900, with 100 above it. They are spread evenly, so each is a cluster: the
	// limits of a Poisson count are ±20, and a bucket is 512 ns.
	if d := tail.Asked; d == nil || d.Value != 999_900 || d.Low == nil || *d.Low > 999_880 || *d.Low < 999_880-1024 || d.High == nil || *d.High < 999_920 || *d.High > 999_920+1024 || d.Open {
		t.Errorf("p99.99: %+v", d)
	}
	if tail := Of(FromWorst(worst, 999_999, 1_000_000_000), Options{}); tail.Largest.P != 0.99999 {
		t.Errorf("999,999 packets support p%g", 100*tail.Largest.P)
	}
}

// Without time blocks, or with those of other packets, there is a value without an interval, and the reason.
func TestNoIntervalHasAReason(t *testing.T) {
	s := inBlocks(t, simulated(rand.New(rand.NewPCG(7, 7)), 10_000, 1000, func(r *rand.Rand) float64 { return 10_000 + 1000*r.ExpFloat64() }))
	without, other, short := s, s, s
	without.Blocks, without.Lacking = nil, "nobody counted"
	other.Total++
	short.Blocks = [][]*result.Packed{slices.Clone(s.Blocks[0][:1])}
	short.Total = s.Blocks[0][0].Count()
	short.Points = nil
	for name, c := range map[string]struct {
		sample Sample
		words  string
	}{
		"without": {without, "nobody counted"}, "other": {other, "the time blocks have 10000 packets, the summary 10001"}, "short": {short, "too short"},
		"pooled": {Pool(s, without), "nobody counted"},
	} {
		d := Of(c.sample, Options{P: 0.95}).Asked
		if d == nil || d.Value == 0 || d.Low != nil || d.High != nil || d.Open || !strings.Contains(d.NoInterval, c.words) {
			t.Errorf("%s: %+v, want the reason %q", name, d, c.words)
		}
	}
	if d := Of(s, Options{P: 0.95}).Asked; d == nil || d.Low == nil || d.High == nil || d.NoInterval != "" {
		t.Errorf("with all blocks: %+v", d)
	}
	// The blocks reach below the slowest packets.
	if d := Of(s, Options{P: 0.5}).Asked; d == nil || d.Value != 1 {
		t.Errorf("p50 of a sample of the slowest tenth: %+v", d)
	}
}

// If packets come in clusters, there are fewer independent values than packets.
func TestClustersWidenMeasuredPercentiles(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	together := inBlocks(t, fromPoints(movingMaximum(random, 100_000, 0), 1000))
	apart := together
	apart.Points = slices.Clone(together.Points)
	for i, place := range random.Perm(len(apart.Points)) {
		apart.Points[place].AtNs = int64(i) * apart.SpanNs / int64(len(apart.Points))
	}
	slices.SortFunc(apart.Points, func(a, b Point) int { return cmp.Compare(a.AtNs, b.AtNs) })
	eight, alone := Of(together, Options{P: 0.999}).Asked, Of(inBlocks(t, apart), Options{P: 0.999}).Asked
	if alone.Value != eight.Value || *eight.Low >= *alone.Low || *eight.High <= *alone.High || eight.Clusters > alone.Clusters/4 {
		t.Errorf("alone %+v [%v, %v], in clusters of 8 %+v [%v, %v]", alone, *alone.Low, *alone.High, eight, *eight.Low, *eight.High)
	}
}

func TestSameSampleSameAnswer(t *testing.T) {
	s := fromPoints(movingMaximum(rand.New(rand.NewPCG(2, 2)), 100_000, 0), 1000)
	a, b := Of(s, Options{P: 0.999999}), Of(s, Options{P: 0.999999})
	if (a.Estimate == nil) != (b.Estimate == nil) || a.Estimate != nil && *a.Estimate != *b.Estimate || strings.Join(a.Refused, "") != strings.Join(b.Refused, "") {
		t.Errorf("%+v %q and %+v %q", a.Estimate, a.Refused, b.Estimate, b.Refused)
	}
}

func TestSamples(t *testing.T) {
	worst := []Point{{9, 50}, {7, 10}, {5, 30}, {5, 20}, {8, 40}}
	s := FromWorst(worst, 100, 1000)
	if s.Floor != 5 || len(s.Points) != 3 || s.Points[0] != (Point{7, 10}) || s.Points[2] != (Point{9, 50}) {
		t.Errorf("of the worst: %+v; what equals the least may be missing, and goes", s)
	}
	if s := FromWorst(worst, 5, 1000); len(s.Points) != 5 || !math.IsInf(s.Floor, -1) {
		t.Errorf("of all CPUs: %+v", s)
	}
	both := Pool(s, FromWorst([]Point{{11, 5}, {6, 3}, {12, 7}}, 50, 100))
	if both.Floor != 6 || both.Total != 150 || both.SpanNs != 1100 || len(both.Points) != 5 || both.Points[4] != (Point{12, 1007}) {
		t.Errorf("pooled: %+v", both)
	}
	values, times := make([]int64, 10_000), make([]int64, 10_000)
	for i := range values {
		values[i], times[i] = int64(i%2000), int64(i)*10+77
	}
	all := fromAll(values, times)
	// p99.95 of the first 2,000, 0 to 1,999, is the 1,999th: 1,998.
	if all.Floor != 1998 || len(all.Points) != 5 || all.SpanNs != 99_990 || all.Points[0].AtNs != 19_990 {
		t.Errorf("of all: %+v", all)
	}
	if s := fromAll(nil, nil); s.Total != 0 {
		t.Errorf("of none: %+v", s)
	}
}

// fromAll makes the sample of a measurement with all values known, in time order, such as one from
// captures. Its floor is the Collector's.
func fromAll(values, timesNs []int64) Sample {
	if len(values) == 0 {
		return NewCollector(0).Sample(0)
	}
	c := NewCollector(uint64(len(values)))
	for i, v := range values {
		c.Add(float64(v), timesNs[i]-timesNs[0])
	}
	return c.Sample(timesNs[len(timesNs)-1] - timesNs[0])
}
