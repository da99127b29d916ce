package duet

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"nines.dev/nines/test/labtest"
)

// packetsPerSecond of both sides.
const packetsPerSecond = 40_000

// trials plays a number of them on all CPUs.
func trials(o Options, seed uint64, number int, e effect) []Look {
	looks := make([]Look, number)
	var running sync.WaitGroup
	for first := range runtime.NumCPU() {
		running.Go(func() {
			for i := first; i < number; i += runtime.NumCPU() {
				looks[i] = play(o, seed, uint64(i), packetsPerSecond, e)
			}
		})
	}
	running.Wait()
	return looks
}

// cases are how many trials the proofs have: a tenth in the ordinary form.
func cases(all int) int {
	if labtest.Long() {
		return all
	}
	return all / 10
}

func decisions(looks []Look, q Question) map[Decision]int {
	found := map[Decision]int{}
	for _, look := range looks {
		found[answerTo(q, look).Decision]++
	}
	return found
}

func answerTo(q Question, look Look) Answer {
	return look.Answers[slices.IndexFunc(look.Answers, func(a Answer) bool { return a.Question == q })]
}

// TestTheSameVariantTwice: of 200 trials of A against A, at most 16 find a difference, at each percentile (of 20: 3).
func TestTheSameVariantTwice(t *testing.T) {
	looks := trials(Options{}, 11, cases(200), effect{})
	most := max(len(looks)*16/200, 3)
	for _, q := range Questions() {
		found := decisions(looks, q)
		t.Logf("%v: %v", q, found)
		if wrong := found[ALower] + found[BLower]; wrong > most {
			t.Errorf("%v: %d of %d trials find a difference, at most %d may", q, wrong, len(looks), most)
		}
	}
}

// TestDifferencesAreDecided: 5 % of the median are decided at p50 from 3 s of traffic, and 1 µs at the undisturbed p99
// from 20 s, in at least 92 of 100 trials (8 of 10).
func TestDifferencesAreDecided(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		effect  effect
		asked   Question
	}{
		{"5 % at p50 in 3 s", Options{LengthNs: 3e9}, effect{share: 0.05}, Question{P: 0.5}},
		{"1 µs at the undisturbed p99 in 20 s", Options{}, effect{ns: 1 * us}, Question{P: 0.99, Undisturbed: true}},
	} {
		looks := trials(c.options, 12, cases(100), c.effect)
		var seconds float64
		for _, look := range looks {
			seconds += float64(look.AtNs) / 1e9 / float64(len(looks))
		}
		fewest := len(looks) * 92 / 100
		if !labtest.Long() {
			fewest = len(looks) * 8 / 10
		}
		found := decisions(looks, c.asked)
		t.Logf("%s: %v, after %.1f s on average", c.name, found, seconds)
		if found[ALower] < fewest {
			t.Errorf("%s: only %d of %d trials find it", c.name, found[ALower], len(looks))
		}
		for _, q := range Questions() {
			if wrong := decisions(looks, q)[BLower]; wrong > len(looks)/20 {
				t.Errorf("%s: %v: %d of %d trials find the opposite", c.name, q, wrong, len(looks))
			}
		}
	}
}

// TestIntervalsHoldTheTruth: B is A and 1 µs more, so undisturbed percentiles differ by 1 µs; loss by nothing.
func TestIntervalsHoldTheTruth(t *testing.T) {
	// Asked for what is never decided, all trials last as long, and the others are answered by one look.
	looks := trials(Options{LengthNs: 3e9, Asked: []Question{{P: 0.999}}}, 13, cases(200), effect{ns: 1 * us})
	for _, q := range Questions() {
		if !q.Undisturbed {
			continue
		}
		held, known := 0, 0
		for _, look := range looks {
			if d := answerTo(q, look).Difference; d != nil {
				known++
				if d.Low <= 1000 && d.High >= 1000 {
					held++
				}
			}
		}
		t.Logf("%v: %d of %d intervals hold the truth", q, held, known)
		if known < len(looks)*9/10 || float64(held) < 0.88*float64(known) {
			t.Errorf("%v: %d of %d intervals hold the truth", q, held, known)
		}
	}
}
