package confidence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nines.dev/nines/test/labtest"
)

// A window of trials that are minutes apart, as an agent of a cluster measures a node: 12 of 5 s, 1,000 packets a second.
const (
	windowTrials = 12
	trialPackets = 5000
)

// noise is what others on a host do to the packets of a trial.
type noise struct {
	name string
	draw func(*rand.Rand, []float64)
	// fooled tells that an interval which takes packets as independent holds too seldom.
	fooled bool
}

const delayNs = 100_000

func delay(r *rand.Rand) float64 { return delayNs * math.Exp(0.5*r.NormFloat64()) }

func windowNoise() []noise {
	quiet := func(r *rand.Rand, to []float64) {
		for i := range to {
			to[i] = lognormal(r.NormFloat64())
		}
	}
	// bursts delay about so many neighbours each.
	bursts := func(perTrial, neighbours float64) func(*rand.Rand, []float64) {
		return func(r *rand.Rand, to []float64) {
			quiet(r, to)
			next := func() float64 { return trialPackets / perTrial * r.ExpFloat64() }
			for at := next(); at < trialPackets; at += next() {
				end := min(at+1+neighbours*r.ExpFloat64(), trialPackets)
				for i := int(at); i < int(end); i++ {
					to[i] += delay(r)
				}
			}
		}
	}
	// A phase is longer than a trial: it has a part of the packets, or none, late.
	phases := func(trials, packets float64) func(*rand.Rand, []float64) {
		return func(r *rand.Rand, to []float64) {
			quiet(r, to)
			if r.Float64() >= trials {
				return
			}
			for i := range to {
				if r.Float64() < packets {
					to[i] += delay(r)
				}
			}
		}
	}
	return []noise{
		{"quiet", quiet, false},
		{"short bursts", bursts(3, 20), true},
		{"long bursts", bursts(2, 100), true},
		{"phases", phases(0.3, 0.05), true},
	}
}

// TestCoverageOfAWindow: the upper ends of 95 % intervals of p99 and p99.9 from the blocks of a window are below the
// true percentile in at most a tenth of simulated windows, whatever delays packets together. Those by ranks are in a
// fifth or more of them.
func TestCoverageOfAWindow(t *testing.T) {
	cases := 100
	if labtest.Long() {
		cases = 1000
	}
	for _, kind := range windowNoise() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			ps := []float64{0.99, 0.999}
			truths := truthsOf(kind, ps)
			for i, got := range simulateWindows(kind, ps, truths, cases) {
				share, byRanks := float64(got.held)/float64(cases), float64(got.ranks)/float64(cases)
				t.Logf("p%g: %.3f of the bounds hold, %d of %d are open; by ranks %.3f hold; bound over value %.2f, by ranks %.2f", 100*ps[i], share, got.open, cases,
					byRanks, medianOf(got.over), medianOf(got.ranksOver))
				if share < 0.9 {
					t.Errorf("p%g: %.3f of the bounds hold, want 0.9", 100*ps[i], share)
				}
				if i == 0 && kind.fooled && byRanks > 0.8 {
					t.Errorf("p%g: %.3f of the bounds by ranks hold: this noise shows nothing", 100*ps[i], byRanks)
				}
				if !kind.fooled && (got.open > cases/20 || medianOf(got.over)-1 > 1.25*(medianOf(got.ranksOver)-1)) {
					t.Errorf("p%g: %d of %d are open, the others %.3f of the value, by ranks %.3f", 100*ps[i], got.open, cases, medianOf(got.over), medianOf(got.ranksOver))
				}
			}
		})
	}
}

// truthsOf takes the percentiles of two million packets as the true ones.
func truthsOf(kind noise, ps []float64) []float64 {
	const trials = 400
	all := make([]float64, trials*trialPackets)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range trials {
		kind.draw(r, all[i*trialPackets:(i+1)*trialPackets])
	}
	slices.Sort(all)
	var truths []float64
	for _, p := range ps {
		truths = append(truths, all[int(p*float64(len(all)))])
	}
	return truths
}

// bounded is how the bounds of a percentile did, and by how much they are more than it.
type bounded struct {
	held, open, ranks int
	over, ranksOver   []float64
}

func simulateWindows(kind noise, ps, truths []float64, cases int) []bounded {
	out := make([]bounded, len(ps))
	packets := make([]float64, trialPackets)
	for i := range cases {
		r := rand.New(rand.NewPCG(9100, uint64(i)))
		var window Blocks
		for range windowTrials {
			kind.draw(r, packets)
			window.Add(trialOf(packets))
		}
		for at, p := range ps {
			got, o := window.Percentile(p, Level), &out[at]
			switch {
			case got.High == nil:
				o.open++
				o.held++
			default:
				o.over = append(o.over, *got.High/got.Value)
				if *got.High >= truths[at] {
					o.held++
				}
			}
			byRanks := window.at(percentileRanks(window.total, p, Level).High)
			o.ranksOver = append(o.ranksOver, byRanks/got.Value)
			if byRanks >= truths[at] {
				o.ranks++
			}
		}
	}
	return out
}

// trialOf is a trial of these packets, sent at equal distances. Those below a floor are one value.
func trialOf(packets []float64) Blocks {
	const floor = 2 * lognormalNs
	one := tally{blocks: leastBlocks}
	below := make([]uint64, leastBlocks)
	for i, ns := range packets {
		if block := i * leastBlocks / len(packets); ns > floor {
			one.add(ns, ns, block, 1)
		} else {
			below[block]++
		}
	}
	for block, count := range below {
		one.add(floor, floor, block, count)
	}
	return one.trial()
}

// TestAddedTrialsAreAsCountedAtOnce: the blocks of trials that are joined one by one, in any order, are those of all.
func TestAddedTrialsAreAsCountedAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var forth, back Blocks
	var trials []Blocks
	var all tally
	for i := range 12 {
		blocks := even(100, 3+i%5)
		blocks[r.IntN(100)] = packed([]int64{int64(1000 * (1 + i%4)), 77})[0]
		trials = append(trials, TrialBlocks(blocks))
		all.addTrial(blocks, 5)
	}
	for i := range trials {
		forth.Add(trials[i])
		back.Add(trials[len(trials)-1-i])
	}
	at := all.blocksOf()
	if forth.blocks != 240 || forth.trials != 12 || forth.total != at.total || len(forth.steps) != len(at.steps) {
		t.Fatalf("%d blocks of %d trials with %d packets in %d steps, at once %d in %d", forth.blocks, forth.trials, forth.total, len(forth.steps), at.total, len(at.steps))
	}
	for i := range at.steps {
		one, other, want := forth.steps[i], back.steps[i], at.steps[i]
		if one != other || one.in != want.in || one.above != want.above || one.low != want.low || one.high != want.high {
			t.Errorf("step %d: %+v, from the other end %+v, at once %+v", i, one, other, want)
		}
	}
}
