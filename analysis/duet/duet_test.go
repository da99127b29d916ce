package duet

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/analysis/undisturbed"
)

// trialOf sends a packet of each side every 100 µs for a time; latency says what each takes, undisturbed.Lost if it is
// lost.
func trialOf(o Options, lengthNs int64, latency func(side Side, number int) int64) *Trial {
	t := NewTrial(o)
	for i := 0; int64(i)*100*us < lengthNs; i++ {
		for _, side := range []Side{A, B} {
			p := undisturbed.Packet{DueNs: int64(i)*100*us + int64(side)*50*us, ReceivedNs: undisturbed.Lost}
			if ns := latency(side, i); ns >= 0 {
				p.ReceivedNs = p.DueNs + ns
			}
			t.Add(side, p)
		}
	}
	return t
}

// plain latencies are 10 to 11 µs, those of B some more.
func plain(more int64) func(Side, int) int64 {
	r := rand.New(rand.NewPCG(1, 2))
	return func(side Side, _ int) int64 { return 10*us + r.Int64N(1*us) + int64(side)*more }
}

func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		name string
		more int64
		want Decision
	}{
		{"clearly more", 2000, ALower},
		{"clearly less", -2000, BLower},
		{"less than matters", 10, Same},
		{"about as much as matters", 95, Undecided},
	} {
		trial := trialOf(Options{}, 1e9, plain(c.more))
		if first := trial.Look(1e9); first.Over {
			t.Errorf("%s: the first look ends the trial", c.name)
		}
		look := trial.Look(1e9)
		a := answerTo(Question{P: 0.5}, look)
		if a.Decision != c.want || a.Difference.Low > float64(c.more) || a.Difference.High < float64(c.more) || math.Abs(a.Least-105) > 1 {
			t.Errorf("%s: %s, %+v of at least %.0f ns", c.name, a.Decision, a.Difference, a.Least)
		}
		if undecided := a.Decision == Undecided; undecided != (a.Because != "") || undecided != (a.NeedsNs > 0) || undecided == look.Over {
			t.Errorf("%s: because %q, needs %d ns, over %v", c.name, a.Because, a.NeedsNs, look.Over)
		}
		if want := []int{2, len(Questions())}; !slices.Contains(want, len(look.Answers)) || look.Over != (len(look.Answers) > 2) {
			t.Errorf("%s: %d answers", c.name, len(look.Answers))
		}
	}
}

func TestLossIsCompared(t *testing.T) {
	asked := []Question{Loss}
	look := trialOf(Options{Asked: asked}, 1e9, func(side Side, i int) int64 {
		if side == B && i%50 == 7 {
			return undisturbed.Lost
		}
		return 10 * us
	}).Look(1e9)
	a := look.Answers[0]
	if a.Question != Loss || a.Decision != ALower || a.A != 0 || a.B != 0.02 || a.Ratio != nil || a.Difference.Low < 0.015 || a.Difference.High > 0.025 {
		t.Errorf("%+v, difference %+v", a, a.Difference)
	}
}

// What cannot be answered says why.
func TestUnanswered(t *testing.T) {
	none := func(side Side, _ int) int64 { return map[Side]int64{A: 10 * us, B: undisturbed.Lost}[side] }
	full := trialOf(Options{}, 1e9, plain(0))
	full.Interrupted([]undisturbed.CPU{{Name: "CPU 2", Missing: 7}})
	for _, c := range []struct {
		name string
		look Look
		q    Question
		why  string
	}{
		{"short", trialOf(Options{}, 0.3e9, plain(0)).Look(0.3e9), Question{P: 0.5}, "too short"},
		{"lost", trialOf(Options{}, 1e9, none).Look(1e9), Question{P: 0.5}, "packets of B"},
		{"few", trialOf(Options{Asked: []Question{{P: 0.999}}}, 0.45e9, plain(0)).Look(0.45e9), Question{P: 0.999}, "too few events"},
		{"a full list", full.Look(1e9), Question{0.99, true}, "CPU 2 had 7 more"},
	} {
		if a := answerTo(c.q, c.look); a.Decision != Undecided || a.Difference != nil || !strings.Contains(a.Because, c.why) {
			t.Errorf("%s: %s because %q, want %q", c.name, a.Decision, a.Because, c.why)
		}
	}
}

// What is too short to be listed is in both sides alike: it tells which is lower, and not that both are the same.
func TestShortInterruptionsRemain(t *testing.T) {
	for extra, want := range map[int64]Decision{0: Undecided, us: ALower} {
		trial := trialOf(Options{}, 1e9, plain(extra))
		trial.Interrupted([]undisturbed.CPU{{Name: "CPU 2", Short: []undisturbed.Short{{EachBelowNs: ms, TotalNs: 2 * ms}}}})
		a := answerTo(Question{0.99, true}, trial.Look(1e9))
		if a.Decision != want || a.Difference == nil || !strings.Contains(a.Remains, "too short to be listed, up to 0.2 % of the time") {
			t.Errorf("with %d ns more on side b: %s because %q, %q remains", extra, a.Decision, a.Because, a.Remains)
		}
	}
}

// A decision stays where a later look decides nothing, and falls where one decides otherwise. An interval is that of one
// look.
func TestDecisionsStay(t *testing.T) {
	lower := Answer{Decision: ALower, Difference: &Interval{50, 100, 150}, Least: 20}
	open := Answer{Decision: Undecided, Difference: &Interval{-10, 60, 130}, Least: 20, Because: "wide", NeedsNs: 7}
	closer := Answer{Decision: ALower, Difference: &Interval{90, 100, 110}, Least: 20}
	same := Answer{Decision: Same, Difference: &Interval{-5, 0, 5}, Least: 20}
	for name, c := range map[string]struct{ first, second, want Answer }{
		"nothing yet":     {open, lower, lower},
		"nothing more":    {lower, open, confirmed(lower)},
		"more closely":    {lower, closer, confirmed(closer)},
		"another outcome": {lower, same, Answer{Decision: Undecided, Difference: same.Difference, Least: 20, Because: changed}},
	} {
		trial := NewTrial(Options{})
		trial.remember(c.first)
		if got := trial.remember(c.second); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	trial := NewTrial(Options{})
	for _, a := range []Answer{lower, same} {
		trial.remember(a)
	}
	if got := trial.remember(lower); got.Decision != Undecided || got.Because != changed {
		t.Errorf("after a change: %+v", got)
	}
}

func confirmed(a Answer) Answer {
	a.Confirmed = true
	return a
}

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    []int64 // ms
	}{
		{Options{}, []int64{1000, 1380, 1940, 2700, 3780, 5280, 7360, 10260, 14320, 20000}},
		{Options{LengthNs: 500e6}, []int64{500}},
	} {
		var got []int64
		for _, at := range c.options.Looks() {
			got = append(got, at/1e6)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c.options, got)
		}
	}
}

// The percentile of a curve is that of its packets, each block taken a number of times.
func TestCurve(t *testing.T) {
	trial := trialOf(Options{}, 0.5e9, plain(0))
	trial.endBlocks(0.5e9)
	r := rand.New(rand.NewPCG(2, 2))
	times := make([]float64, len(trial.blocks))
	for i := range times {
		times[i] = float64(r.IntN(3))
	}
	var all []float64
	draw := plain(0)
	for i := range 5000 {
		a, _ := draw(A, i), draw(B, i)
		for range int(times[i/200]) {
			all = append(all, float64(a))
		}
	}
	slices.Sort(all)
	for _, p := range []float64{0.5, 0.9, 0.99} {
		c := trial.curveOf(int(A), whole, p, func(float64) float64 { return 1 })
		if got, want := c.value(times), all[int(p*float64(len(all)))]; math.Abs(got/want-1) > 0.002 {
			t.Errorf("p%g: %.0f, want %.0f", 100*p, got, want)
		}
	}
}

// BenchmarkLook is a last look, at 20 s with 200,000 packets a second.
func BenchmarkLook(b *testing.B) {
	t := NewTrial(Options{})
	r := rand.New(rand.NewPCG(1, 1))
	h := newHost(1, 1)
	for due := int64(0); due < 20e9; due += 5 * us {
		h.change(float64(due))
		side := Side(r.IntN(2))
		t.Add(side, undisturbed.Packet{DueNs: due, ReceivedNs: int64(h.packet(side, float64(due), effect{}))})
	}
	for b.Loop() {
		t.looks = mostLooks - 1
		t.Look(20e9)
	}
}
