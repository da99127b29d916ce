package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/analysis/duet"
	"nines.dev/nines/analysis/undisturbed"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// sided is a packet of a duet.
type sided struct {
	side   duet.Side
	packet undisturbed.Packet
}

// decideDuet compares the sides of a trial that has ended, and fills in what was decided.
func decideDuet(rec *result.Record, o observation, seen *lookout) {
	d := rec.Trial.Duet
	if d == nil {
		return
	}
	if d.Open = undecidable(rec, o); d.Open != "" {
		return
	}
	rx := o.outcome.Rx
	lengthNs := int64(o.stream.Duration)
	switch {
	case rx.Interrupted:
		lengthNs = max(rx.EndNs-rx.MeasuredStartNs-pausedNs(rx), 0)
	case rx.StoppedNs > 0:
		lengthNs = rx.StoppedNs
	}
	// Afresh, as a look takes a packet for lost that arrives only after its pause.
	if err := o.outcome.Arrivals.Begin(); err != nil {
		d.Open = err.Error()
		return
	}
	packets := sidedOf(o.outcome.Arrivals.Take(), rx.Pauses)
	at := slices.DeleteFunc(slices.Clone(seen.at), func(at int64) bool { return at >= lengthNs })
	again := &looks{trial: duet.NewTrial(optionsOf(seen.asked))}
	again.through(packets, withoutPauses(interruptedCPUs(rec), rx.Pauses), append(at, lengthNs))
	d.Looks, d.TrafficNs = again.count, again.last.AtNs
	d.Comparisons = compared(again.last, seen.asked.Ask, unseenParts(rec))
}

// undecidable says why the packets of a trial tell nothing of its sides; empty if they do.
func undecidable(rec *result.Record, o observation) string {
	switch rx := o.outcome.Rx; {
	case len(o.faults) > 0 || len(o.astray) > 0 || rec.Trial.Verdict == result.Invalid:
		return "the trial is invalid: " + strings.Join(rec.Trial.Reasons, "; ")
	case o.outcome.Arrivals == nil || rx.Arrivals == nil:
		return "the engine kept no list of the packets"
	default:
		counts := *rx.Arrivals
		counts.OneIn = 1 // of both sides alike
		return untold(counts)
	}
}

// sidedOf are packets of both sides, whose times are without pauses: a latency is as it was.
func sidedOf(sent []client.Sent, pauses [][2]int64) []sided {
	list := make([]sided, len(sent))
	for i, one := range sent {
		p := undisturbed.Packet{DueNs: trafficTime(one.DueNs, pauses), ReceivedNs: undisturbed.Lost}
		if one.ReceivedNs != client.NotReceived {
			p.ReceivedNs = p.DueNs + one.ReceivedNs - one.DueNs
		}
		list[i] = sided{sideOf(one.SideB), p}
	}
	return list
}

func sideOf(b bool) duet.Side {
	if b {
		return duet.B
	}
	return duet.A
}

// unseenParts says what of the packets' way had no witness; empty if nothing.
func unseenParts(rec *result.Record) string {
	if list := rec.Trial.Interruptions.Unseen; len(list) > 0 {
		return "nobody saw what interrupted a part of the way: " + list[0]
	}
	return ""
}

// optionsOf are those of what the file asks.
func optionsOf(asked *spec.Duet) duet.Options {
	options := duet.Options{LeastShare: positive(asked.Least.Share), LeastNs: positive(float64(asked.Least.Latency)), LengthNs: int64(asked.For)}
	for _, text := range asked.Ask {
		options.Asked = append(options.Asked, questionOf(text))
	}
	return options
}

// positive is a least difference that is none, which the options would take for their default.
func positive(v float64) float64 { return max(v, 1e-9) }

// looks are those at the packets of a duet, each at its time.
type looks struct {
	trial *duet.Trial
	count int
	last  duet.Look
}

// through takes all packets of a trial, and looks at them at times of traffic, of which the last is its end.
func (l *looks) through(packets []sided, cpus []undisturbed.CPU, at []int64) {
	for _, end := range at {
		var heard []undisturbed.CPU
		for i := range cpus {
			n := 0
			for n < len(cpus[i].Interruptions) && cpus[i].Interruptions[n].BeginNs < end {
				n++
			}
			// What is told of the whole trial is spread evenly.
			share := float64(end-l.last.AtNs) / float64(at[len(at)-1])
			now := cpus[i]
			now.Interruptions, now.Short = now.Interruptions[:n], slices.Clone(now.Short)
			for j := range now.Short {
				now.Short[j].TotalNs = int64(share * float64(now.Short[j].TotalNs))
			}
			if end != at[len(at)-1] {
				now.Missing = 0
			}
			cpus[i].Interruptions = cpus[i].Interruptions[n:]
			heard = append(heard, now)
		}
		l.trial.Interrupted(heard)
		for len(packets) > 0 && packets[0].packet.DueNs < end {
			l.trial.Add(packets[0].side, packets[0].packet)
			packets = packets[1:]
		}
		l.last = l.trial.Look(end)
		l.count++
	}
}

// questionOf is "undisturbed p99.9" or "loss", as the file asks it.
func questionOf(text string) duet.Question {
	rest, without := strings.CutPrefix(text, "undisturbed ")
	percent, err := strconv.ParseFloat(strings.TrimPrefix(rest, "p"), 64)
	if err != nil {
		return duet.Loss
	}
	for _, q := range duet.Questions() {
		if q != duet.Loss && q.Undisturbed == without && fmt.Sprintf("%g", 100*q.P) == fmt.Sprintf("%g", percent) {
			return q
		}
	}
	return duet.Loss
}

// compared are the answers to what was asked, in that order, and then all others. Where a part of the way had no
// witness, nothing undisturbed is told.
func compared(look duet.Look, asked []string, unseen string) []result.DuetComparison {
	var list []result.DuetComparison
	add := func(a duet.Answer, is bool) {
		c := comparisonOf(a, is)
		if a.Question.Undisturbed && unseen != "" {
			c = result.DuetComparison{Quantity: c.Quantity, Asked: is, Decision: result.Undecided, Why: unseen}
		}
		list = append(list, c)
	}
	for _, text := range asked {
		for _, a := range look.Answers {
			if a.Question == questionOf(text) {
				add(a, true)
			}
		}
	}
	for _, a := range look.Answers {
		if !slices.ContainsFunc(asked, func(text string) bool { return questionOf(text) == a.Question }) {
			add(a, false)
		}
	}
	return list
}

func comparisonOf(a duet.Answer, asked bool) result.DuetComparison {
	c := result.DuetComparison{
		Quantity: a.Question.String(), Asked: asked, Difference: boundedBy(a.Difference), Ratio: boundedBy(a.Ratio),
		Decision: map[duet.Decision]result.Decision{duet.ALower: result.ALower, duet.BLower: result.BLower, duet.Same: result.Same, duet.Undecided: result.Undecided}[a.Decision],
		Why:      a.Because, NeedsNs: a.NeedsNs, Remains: a.Remains,
	}
	if a.Difference != nil {
		c.A, c.B = &a.A, &a.B
	}
	return c
}

func boundedBy(i *duet.Interval) *result.Bounded {
	if i == nil {
		return nil
	}
	return &result.Bounded{Value: i.Value, Low: i.Low, High: i.High}
}
