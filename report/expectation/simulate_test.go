package expectation

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"nines.dev/nines/expect"
)

// network makes latencies: lognormal, with stalls of a number of packets that begin at random, and a factor of each trial.
type network struct {
	name    string
	stalls  float64 // a trial, on average
	packets float64 // of a stall, on average
	between float64 // the deviation of the logarithm of a trial's factor
}

// latency is the next packet of a trial.
func (n network) latency(random *rand.Rand, packets int) func(trial int) func(at int) float64 {
	return func(int) func(int) float64 {
		factor := math.Exp(n.between * random.NormFloat64())
		left, stall := 0.0, 0.0
		return func(int) float64 {
			if left > 0 {
				left--
				return factor * (50e3 + 1e3*left)
			}
			if stall = random.Float64(); stall < n.stalls/float64(packets) {
				left = math.Ceil(n.packets * random.ExpFloat64())
			}
			return factor * 5e3 * math.Exp(0.2*random.NormFloat64())
		}
	}
}

// truth is the percentile of very many trials.
func (n network) truth(p float64, packets int) float64 {
	random := rand.New(rand.NewPCG(99, 99))
	const trials = 1000
	var all []float64
	for range trials {
		next := n.latency(random, packets)(0)
		for at := range packets / 20 {
			all = append(all, next(at))
		}
	}
	slices.Sort(all)
	return all[int(p*float64(len(all)))]
}

// TestErrorRates decides "p99 < limit" where the limit is the truth itself, the hardest case: both that it holds, and that
// it is violated, are wrong decisions then. And where the truth is well below or above, decisions are found. All is drawn
// from fixed seeds.
func TestErrorRates(t *testing.T) {
	const packets = 5_000
	cases := 40
	if os.Getenv("NINES_LONG") != "" {
		cases = 400
	}
	for _, n := range []network{
		{name: "independent"},
		{name: "stalls", stalls: 30, packets: 5},
		{name: "trials that differ", between: 0.1},
		{name: "both", stalls: 3, packets: 20, between: 0.1},
	} {
		truth := n.truth(0.99, packets)
		for _, trials := range []int{1, 3, 6} {
			if trials == 1 && (n.between > 0 || n.stalls > 0 && n.stalls < 10) {
				continue // one trial tells nothing of others, and little of what is rare: a note says so
			}
			found := map[float64]map[expect.Decision]int{0.5: {}, 1: {}, 2: {}} // by the limit over the truth
			for seed := range cases {
				m := newMade(uint64(seed))
				m.trials("veth", trials, packets, n.latency(m.random, packets))
				g := m.gatherer()
				for limit := range found {
					e := asked(t, "p99 < 1us")
					e[0].Bound.Constant = limit * truth
					j, err := judgeAll(Options{Result: m.result, Asked: e}, g)
					if err != nil {
						t.Fatal(err)
					}
					found[limit][j.Decision]++
				}
			}
			t.Logf("%s, %d trials: of %d at the limit %d hold and %d are violated, wrongly; below %v, above %v", n.name, trials, cases, found[1][expect.Holds], found[1][expect.Violated], found[2], found[0.5])
			// 2.5 % are promised; three standard deviations more of this many cases are 6 %.
			most := int(0.025*float64(cases) + 3*math.Sqrt(0.025*float64(cases)))
			for _, d := range []expect.Decision{expect.Holds, expect.Violated} {
				if found[1][d] > most {
					t.Errorf("%s, %d trials: %d of %d at the limit are said to be %s, at most %d are allowed", n.name, trials, found[1][d], cases, d, most)
				}
			}
			if wrong := found[2][expect.Violated] + found[0.5][expect.Holds]; wrong > most/2 {
				t.Errorf("%s, %d trials: clear cases are decided the wrong way, %d times", n.name, trials, wrong)
			}
		}
	}
}
