package extreme

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// A result may be damaged, so a sample may hold anything: there is always an answer that can be
// written down.
func TestAnySampleHasAnAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 12))
	values := map[string]func(i int) float64{
		"usual": func(int) float64 { return random.ExpFloat64() }, "negative": func(int) float64 { return -random.ExpFloat64() },
		"huge": func(int) float64 { return 1e300 * random.Float64() }, "tiny": func(int) float64 { return 1e-300 * random.Float64() },
		"heavy": func(int) float64 { return math.Exp(40 * random.ExpFloat64()) }, "rising": func(i int) float64 { return float64(i) },
		"infinite":   func(i int) float64 { return math.Inf(i%3 - 1) },
		"two values": func(i int) float64 { return float64(i % 2) },
		"one apart":  func(i int) float64 { return float64(i / 399) },
	}
	times := map[string]func(i int) int64{
		"even": func(i int) int64 { return int64(i) * 1000 }, "at once": func(int) int64 { return 5 },
		"backwards": func(i int) int64 { return int64(-i) * 1000 }, "wide": func(i int) int64 { return int64(i) << 54 },
		"bursts": func(i int) int64 { return int64(i/20) * 1_000_000 },
	}
	for name, value := range values {
		for when, at := range times {
			for _, span := range []int64{0, 400_000, math.MaxInt64} {
				points := make([]Point, 400)
				for i := range points {
					points[i] = Point{value(i), at(i)}
				}
				for _, total := range []uint64{0, 400, 100_000, math.MaxUint64} {
					for _, p := range []float64{0.99, 0.9999, 0.999999, 1 - 1e-16} {
						tail := Of(FromWorst(points, total, span), Options{P: p})
						if _, err := json.Marshal(tail); err != nil {
							t.Errorf("%s %s in %d ns, %d in all, p%v: %v", name, when, span, total, 100*p, err)
						}
						if tail.Estimate == nil && tail.Asked == nil && len(tail.Refused) == 0 {
							t.Errorf("%s %s in %d ns, %d in all, p%v: neither answer nor reason", name, when, span, total, 100*p)
						}
						if e := tail.Estimate; e != nil && !(e.Low <= e.Value && e.Value <= e.High) {
							t.Errorf("%s %s: %+v", name, when, e)
						}
					}
				}
			}
		}
	}
}
