package duet

import (
	"math"
	"slices"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/analysis/undisturbed"
)

// Look is what a trial tells at a time.
type Look struct {
	AtNs int64
	// Answers are to what was asked; at the end to all questions, those that were asked first.
	Answers []Answer
	// Sifted counts the packets of both sides that interruptions touched.
	Sifted undisturbed.Sifted
	// Over reports that the trial has ended: all that was asked is decided, or it was the last look.
	Over bool
}

// Look answers the questions from the packets so far, at a time after all of them. A trial is looked at when
// Options.Looks says.
//
// What was asked is decided at a level that keeps the chance of any wrong decision, at all looks together, below 5 %:
// each look spends a part of it (Lan and DeMets 1983, "Discrete sequential boundaries for clinical trials"; each look stands
// alone, which needs no assumption on how looks depend on one another), the same on each question. So the intervals of all looks hold together. What was not asked is answered by the last look alone.
func (t *Trial) Look(nowNs int64) Look {
	t.endBlocks(nowNs)
	t.looks++
	planned := len(t.options.Looks())
	look := Look{AtNs: nowNs, Sifted: t.sieve.Sifted(nowNs)}
	r := t.resample()
	wrong := 1 - confidence.Level
	open := 0
	for _, q := range t.options.Asked {
		answer := t.remember(t.answer(q, &look.Sifted, r, wrong*spent(t.looks, planned)/float64(len(t.options.Asked))))
		if !answer.Confirmed {
			open++
		}
		look.Answers = append(look.Answers, answer)
	}
	if look.Over = open == 0 || t.looks >= planned; !look.Over {
		return look
	}
	for _, q := range Questions() {
		if !slices.Contains(t.options.Asked, q) {
			look.Answers = append(look.Answers, t.answer(q, &look.Sifted, r, wrong))
		}
	}
	return look
}

// remember keeps what an earlier look has decided, with the interval by which it did, where this one decides nothing. A trial
// ends when what was asked was decided at two looks: a busy host has phases of seconds, of which an early look has seen
// one. Where two looks decide differently, the difference has changed in the course of the trial, and nothing is
// decided from then on. The intervals of two looks are not joined: what they have in common may be tiny where the difference changes.
func (t *Trial) remember(a Answer) Answer {
	before, ok := t.answers[a.Question]
	switch {
	case before.Because == changed:
		a.Decision, a.Because = Undecided, changed
	case !ok || before.Decision == Undecided:
	case a.Decision == Undecided:
		a = before
		a.Confirmed = true
	case a.Decision != before.Decision:
		a.Decision, a.Because = Undecided, changed
	default:
		a.Confirmed = true
	}
	t.answers[a.Question] = a
	return a
}

const changed = "the difference has changed in the course of the trial"

// fewestEvents is how many events must be beyond a percentile. With fewer, which of the two sides they hit is chance, and
// a bootstrap does not know how much.
const fewestEvents = 10

// answer is that of this look. wrong is the chance that the interval does not hold the truth.
func (t *Trial) answer(q Question, sifted *undisturbed.Sifted, r *resampler, wrong float64) Answer {
	a := Answer{Question: q, Decision: Undecided}
	if len(t.blocks) < leastBlocks {
		a.Because = "the trial is too short"
		return a
	}
	if q == Loss {
		a.Least = t.options.LeastLoss
		a.A, a.B = t.lossOf(A, r.once), t.lossOf(B, r.once)
		a.conclude(t, r, wrong, t.lossOf)
		return a
	}
	kind := whole
	weight := func(float64) float64 { return 1 }
	if q.Undisturbed {
		if sifted.Refused != "" {
			a.Because = sifted.Refused
			return a
		}
		kind, weight = undisturbedOnly, sifted.Weight
	}
	var sides [2]curve
	for side := range sides {
		sides[side] = t.curveOf(side, kind, q.P, weight)
		if sides[side].total == 0 {
			a.Because = "too few packets of " + []string{"A", "B"}[side] + " were received"
			return a
		}
	}
	a.A, a.B = sides[A].value(r.once), sides[B].value(r.once)
	a.Least = max(t.options.LeastNs, t.options.LeastShare*a.A)
	if q.Undisturbed {
		if a.Because = sifted.Hidden(max(a.A, a.B)); a.Because != "" {
			return a
		}
		a.Remains = sifted.Remains(q.P, min(a.A, a.B))
	}
	if events(sides) < fewestEvents {
		a.Because = "too few events lie beyond it"
		a.NeedsNs = int64(t.lengthNs() * fewestEvents / max(events(sides), 1))
		return a
	}
	a.conclude(t, r, wrong, func(side Side, times []float64) float64 { return sides[side].value(times) })
	return a
}

// lossOf is the share of a side's packets that was lost.
func (t *Trial) lossOf(side Side, times []float64) float64 {
	var sent, lost float64
	for i := range t.blocks {
		sent += times[i] * float64(t.blocks[i].sent[side])
		lost += times[i] * float64(t.blocks[i].lost[side])
	}
	return lost / max(sent, 1)
}

// conclude compares the sides and decides, or says how long that would take.
func (a *Answer) conclude(t *Trial, r *resampler, wrong float64, value func(side Side, times []float64) float64) {
	a.Difference, a.Ratio = r.compare(value, wrong)
	a.decide()
	if a.Decision == Same && a.Remains != "" {
		a.Decision, a.Because = Undecided, "what remains of the interruptions may hide a difference"
		return
	}
	if a.Decision != Undecided {
		return
	}
	d := a.Difference
	enough := max(math.Abs(d.Value), a.Least-math.Abs(d.Value))
	half := max(d.Value-d.Low, d.High-d.Value)
	a.Because = "the interval is too wide"
	const mostNs = 1e6 * 1e9
	a.NeedsNs = int64(min(t.lengthNs()*math.Pow(half/enough, 2), mostNs))
}

func (t *Trial) lengthNs() float64 { return float64(len(t.blocks)) * blockNs }

// decide takes a difference as there if its interval excludes 0 and its value matters, and as none if the interval is
// within the least that matters.
func (a *Answer) decide() {
	a.Decision = Undecided
	switch d := a.Difference; {
	case d.Low > -a.Least && d.High < a.Least:
		a.Decision = Same
	case d.Low > 0 && d.Value >= a.Least:
		a.Decision = ALower
	case d.High < 0 && d.Value <= -a.Least:
		a.Decision = BLower
	}
}
