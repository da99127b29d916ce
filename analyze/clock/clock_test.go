package clock_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nines.dev/nines/analyze/clock"
)

// network simulates a delay, an occasional queue, and clocks that differ.
type network struct {
	packets         int
	gapNs           int64
	delayNs, jitter float64
	offsetNs, ppm   float64
	stepAfter       int // packets
	stepNs          float64
	resolutionNs    int64
	loss            float64
}

func (n network) run(seed uint64) (sent, latency []int64) {
	r := rand.New(rand.NewPCG(seed, 3))
	busy := 0.0
	start := int64(1_700_000_000e9)
	for i := range n.packets {
		at := int64(i) * n.gapNs
		if r.IntN(2000) == 0 {
			busy = 300 // packets that find a queue
		}
		queue := 0.0
		if busy > 0 {
			queue = r.Float64() * 200_000
			busy--
		}
		ahead := n.offsetNs + n.ppm*1e-6*float64(at)
		if n.stepNs != 0 && i >= n.stepAfter {
			ahead += n.stepNs
		}
		res := max(1, n.resolutionNs)
		tx := start + at
		rx := start + at + int64(n.delayNs+r.ExpFloat64()*n.jitter+queue+ahead)
		l := rx/res*res - tx/res*res
		if r.Float64() < n.loss {
			l = clock.Lost
		}
		sent, latency = append(sent, tx/res*res), append(latency, l)
	}
	return sent, latency
}

// TestDrift checks that drifts lie within their intervals about as often as promised.
func TestDrift(t *testing.T) {
	for name, n := range map[string]network{
		"none":           {ppm: 0},
		"slow":           {ppm: 0.05},
		"a crystal's":    {ppm: -12},
		"fast":           {ppm: 150},
		"apart, drifts":  {ppm: 3, offsetNs: -90e9},
		"microseconds":   {ppm: 5, resolutionNs: 1000},
		"with a step":    {ppm: 2, stepAfter: 20_000, stepNs: 80_000},
		"loses a lot":    {ppm: 1, loss: 0.7},
		"few, far apart": {ppm: 1, packets: 600, gapNs: 50_000_000},
	} {
		if n.packets == 0 {
			n.packets, n.gapNs = 50_000, 100_000 // 5 s
		}
		n.delayNs, n.jitter = 3000, 400
		const runs = 40
		within := 0
		for seed := range uint64(runs) {
			e := clock.Of(n.run(seed))
			if e.Drift == nil {
				t.Fatalf("%s: no drift estimated", name)
			}
			if e.Drift.LowPPM <= n.ppm && n.ppm <= e.Drift.HighPPM {
				within++
			}
			if width := e.Drift.HighPPM - e.Drift.LowPPM; width > 0.5+0.2*math.Abs(n.ppm)+float64(n.resolutionNs)/2000 {
				t.Errorf("%s: an interval of %.3g ppm", name, width)
			}
			if over := n.ppm * 1e-6 * float64(e.SpanNs); math.Abs(float64(e.Drift.OverNs)-over) > 0.3*math.Abs(over)+2000 {
				t.Errorf("%s: %d ns over the span, want %.0f", name, e.Drift.OverNs, over)
			}
			if steps := len(e.Steps); steps != 0 && n.stepNs == 0 {
				t.Errorf("%s: %d steps that are none: %+v", name, steps, e.Steps)
			}
		}
		// Of 40 intervals of 95 %, at least 32 contain the truth in all but some of 10⁵ cases.
		if within < 32 {
			t.Errorf("%s: the truth is in %d of %d intervals of 95 %%", name, within, runs)
		}
	}
}

// TestLoadIsNoDrift has a queue that fills more and more often, and is sometimes empty, as at the
// beginning.
func TestLoadIsNoDrift(t *testing.T) {
	for seed := range uint64(20) {
		sent, latency := network{packets: 20_000, gapNs: 100_000, delayNs: 3000, jitter: 100}.run(seed)
		r := rand.New(rand.NewPCG(seed, 9))
		for i := range latency {
			if i%1000 > 100 { // most slots see the queue
				latency[i] += int64(float64(i) * (0.5 + r.Float64()))
			}
		}
		if e := clock.Of(sent, latency); e.Drift.Known() {
			t.Errorf("a drift of %+v that is none", e.Drift)
		}
	}
}

// TestLoadIsNoStep has a queue in the first half that some packets pass without waiting.
func TestLoadIsNoStep(t *testing.T) {
	for seed := range uint64(20) {
		sent, latency := network{packets: 20_000, gapNs: 100_000, delayNs: 3000, jitter: 100}.run(seed)
		r := rand.New(rand.NewPCG(seed, 9))
		for i := range len(latency) / 2 {
			if i%1000 > 100 {
				latency[i] += 700 + r.Int64N(5000)
			}
		}
		if e := clock.Of(sent, latency); len(e.Steps) != 0 {
			t.Errorf("steps that are none: %+v", e.Steps)
		}
	}
}

func TestSteps(t *testing.T) {
	for name, n := range map[string]network{
		"up":             {stepAfter: 30_000, stepNs: 20_000},
		"down":           {stepAfter: 10_000, stepNs: -5_000},
		"while drifting": {stepAfter: 25_000, stepNs: 100_000, ppm: 20},
		"by seconds":     {stepAfter: 25_000, stepNs: -37e9},
		"near the end":   {stepAfter: 48_500, stepNs: 50_000},
	} {
		n.packets, n.gapNs, n.delayNs, n.jitter = 50_000, 100_000, 3000, 200
		for seed := range uint64(20) {
			sent, latency := n.run(seed)
			e := clock.Of(sent, latency)
			if len(e.Steps) != 1 {
				t.Errorf("%s: steps %+v, want one", name, e.Steps)
				continue
			}
			s := e.Steps[0]
			if at := (s.AtNs - sent[0]) / n.gapNs; math.Abs(float64(at)-float64(n.stepAfter)) > 600 {
				t.Errorf("%s: at packet %d, want %d", name, at, n.stepAfter)
			}
			if math.Abs(float64(s.ByNs)-n.stepNs) > 500+0.02*math.Abs(n.stepNs) {
				t.Errorf("%s: by %d, want %.0f", name, s.ByNs, n.stepNs)
			}
		}
	}
}

func TestOffset(t *testing.T) {
	for _, c := range []struct {
		offset   float64
		negative bool
		say      string
	}{
		{0, false, "by at most the minimum latency, 3"},
		{-120e9, true, "behind the first's by at least 1m59.99999"},
		{120e9, false, "probably the second capture's clock is ahead"},
	} {
		n := network{packets: 5000, gapNs: 10_000, delayNs: 3000, jitter: 100, offsetNs: c.offset}
		e := clock.Of(n.run(1))
		if (e.Negative == e.Packets) != c.negative || !c.negative && e.Negative != 0 {
			t.Errorf("offset %v: %d of %d negative", c.offset, e.Negative, e.Packets)
		}
		if math.Abs(float64(e.LeastNs)-c.offset-3000) > 50 {
			t.Errorf("offset %v: least %d", c.offset, e.LeastNs)
		}
		if said := strings.Join(e.Sentences(), "\n"); !strings.Contains(said, c.say) {
			t.Errorf("offset %v: says %q, want %q in it", c.offset, said, c.say)
		}
	}
}

// TestLittle covers captures with almost no information.
func TestLittle(t *testing.T) {
	if e := clock.Of([]int64{1, 2}, []int64{clock.Lost, clock.Lost}); e.Packets != 0 || len(e.Sentences()) != 1 {
		t.Errorf("nothing arrived: %+v", e)
	}
	one := clock.Of([]int64{5}, []int64{-7})
	if one.Packets != 1 || one.LeastNs != -7 || one.Negative != 1 || one.Drift != nil {
		t.Errorf("one packet: %+v", one)
	}
	same := make([]int64, 10_000) // all sent at once
	if e := clock.Of(same, same); e.Drift != nil || e.SpanNs != 0 {
		t.Errorf("all at once: %+v", e)
	}
	burst := make([]int64, 10_000) // all but one sent at once
	burst[9999] = 1e9
	if e := clock.Of(burst, same); e.Drift != nil {
		t.Errorf("all but one at once: %+v", e)
	}
}

// TestOrderDoesNotMatter: captures are not always in time order.
func TestOrderDoesNotMatter(t *testing.T) {
	sent, latency := network{packets: 20_000, gapNs: 100_000, delayNs: 3000, jitter: 100, ppm: 4}.run(1)
	want := clock.Of(sent, latency)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(sent), func(i, j int) {
		sent[i], sent[j] = sent[j], sent[i]
		latency[i], latency[j] = latency[j], latency[i]
	})
	if got := clock.Of(sent, latency); *got.Drift != *want.Drift || got.LeastNs != want.LeastNs {
		t.Errorf("shuffled: %+v, want %+v", got, want)
	}
}

func BenchmarkOf(b *testing.B) {
	sent, latency := network{packets: 1_000_000, gapNs: 1000, delayNs: 3000, jitter: 100}.run(1)
	for b.Loop() {
		clock.Of(sent, latency)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/packet")
}

// FuzzOf passes arbitrary times.
func FuzzOf(f *testing.F) {
	f.Add(int64(0), int64(1000), int64(3000), int64(5), uint64(1))
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64+1), uint64(2))
	f.Fuzz(func(t *testing.T, start, gap, latency, jitter int64, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		sent, latencies := make([]int64, 2000), make([]int64, 2000)
		for i := range sent {
			sent[i] = start + int64(i)*gap
			latencies[i] = latency + jitter*int64(r.IntN(10))
		}
		e := clock.Of(sent, latencies)
		if e.Packets > 2000 || e.Negative > e.Packets || len(e.Sentences()) == 0 {
			t.Fatalf("%+v", e)
		}
		if d := e.Drift; d != nil && !(d.LowPPM <= d.PPM && d.PPM <= d.HighPPM) {
			t.Fatalf("%+v", d)
		}
	})
}
