package analyze

import (
	"fmt"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// driftShare is the largest fraction of the median latency that a drift may reach without a note.
const driftShare = 0.1

// reasons collects what speaks against a result.
type reasons []string

func (r *reasons) say(when bool, format string, args ...any) {
	if when {
		*r = append(*r, fmt.Sprintf(format, args...))
	}
}

// verdict judges the pair by what the captures themselves show. Notes has what they cannot show.
func (a *Analysis) verdict() (result.Verdict, []string) {
	var all reasons
	for _, s := range []Source{a.Pre, a.Post} {
		all.say(s.Damage != nil, "%s is damaged: %v", s.Path, s.Damage)
		for _, i := range s.Info.Interfaces {
			all.say(i.Dropped > 0, "%s: the capturing tool lost %s packets of interface %q", s.Path, terminal.Grouped(i.Dropped), i.Name)
		}
		for _, r := range s.Remarks {
			all.say(r.Noisy, "%s: %s", s.Path, r.Text)
		}
		all.say(s.Seen.Backwards > 0, "%s: times go back %s times, by up to %v: the clock was set, or several queues were captured; packets are taken in order of their times",
			s.Path, terminal.Grouped(s.Seen.Backwards), duration(s.Seen.LargestBackwardsNs))
	}
	all.say(a.sameTimes(), "%s; if not, all packets take less than the %v of their times' steps", a.copies(), duration(a.TickNs))
	if a.shifted != nil {
		all.say(true, "%s. If it is so, the latencies mean nothing. If all packets pass %s first, use --one-way", a.shiftedSays(), a.Pre.Path)
	}
	verdict := result.Clean
	for _, d := range a.Directions() {
		if d.reasons(a.Options, &all); d.Counts.Early > d.Counts.Pairs {
			verdict = result.Invalid
		}
	}
	if verdict == result.Clean && len(all) > 0 {
		verdict = result.Noisy
	}
	return verdict, all
}

// reasons are those of one direction, the worst first.
func (d *Direction) reasons(o Options, all *reasons) {
	c := d.Counts
	all.say(c.Early > 0, "%s packets are earlier in %s than in %s, and are left out: the clocks are apart, or the captures are swapped", terminal.Grouped(c.Early), d.To, d.From)
	if len(d.Segmented) > 0 {
		all.say(true, "%s", d.segmentedSays())
	}
	all.say(c.PostUnknown > 0, "%s packets of %s are not in %s: that capture missed them, or something else sent or changed them", terminal.Grouped(c.PostUnknown), d.To, d.From)
	all.say(c.PreAmbiguous > 0, "%s packets of %s have an ambiguous key, and are left out; choose another one with --key%s", terminal.Grouped(c.PreAmbiguous), d.From, orDepth(o))
	all.say(c.Late > 0, "%s packets arrived %v late or more, and count as lost; --window changes that", terminal.Grouped(c.Late), o.Window)
	all.say(c.OutsideOrLost > 0, "%s packets of %s are outside of %s or lost: they were due before its first packet or after its last, and it does not say when it captured; a device that died looks the same",
		terminal.Grouped(c.OutsideOrLost), d.From, d.To)
	all.say(d.unicastForeign > 0, "%s packets of %s are between hosts of which %s has none: all of their packets are lost, or they do not pass that point", terminal.Grouped(d.unicastForeign), d.From, d.To)
	if d.followed {
		return
	}
	if w := d.Clocks.Wander; w != nil {
		median := d.median()
		all.say(float64(w.RangeNs) > driftShare*float64(median), "the minimum latency wanders by %v, which is more than %.0f %% of the median latency (%v): the clocks move against each other, or a queue never empties; the latencies include it, and --follow-clock takes it off",
			duration(w.RangeNs), 100*driftShare, duration(median))
	}
	if drift := d.Clocks.Drift; drift.Known() {
		median := d.median()
		over := max(drift.OverNs, -drift.OverNs)
		all.say(float64(over) > driftShare*float64(median), "the clocks drift by %v over the captures, which is more than %.0f %% of the median latency (%v): the latencies include it, and --follow-clock takes it off", duration(over), 100*driftShare, duration(median))
	}
	for _, step := range d.Clocks.Steps {
		all.say(true, "from %v on the minimum latency is %+d ns different: a clock was set, or the path changed", duration(step.AtNs-d.Clocks.FirstNs).Round(time.Millisecond), step.ByNs)
	}
}

// Notes say how the pair was evaluated, and what captures cannot show.
func (a *Analysis) Notes() []string {
	notes := []string{
		fmt.Sprintf("a pair of captures, %s and %s; packets are identified by the key %q", a.Pre.Path, a.Post.Path, a.Options.Key),
		"latency is from the time in the first capture: the intended send times are not known, so delays of the sender are not included",
		"captures do not show what the hosts did meanwhile: the verdict covers only the captures",
	}
	for _, s := range []Source{a.Pre, a.Post} {
		for _, r := range s.Remarks {
			if !r.Noisy {
				notes = append(notes, fmt.Sprintf("%s: %s", s.Path, r.Text))
			}
		}
		for _, i := range s.Info.Interfaces {
			if !i.LinkType.Understood() {
				notes = append(notes, fmt.Sprintf("%s has packets of %s: nines can compare only their first bytes; it understands Ethernet, raw IP, Linux cooked and loopback", s.Path, i.LinkType))
			}
		}
		if tick := tickNs(s.Info); tick > 1 {
			notes = append(notes, fmt.Sprintf("the times in %s are in steps of %v: each latency is right to ± %v", s.Path, duration(tick), duration(a.TickNs)))
		} else if a.TickNs > 1 {
			notes = append(notes, fmt.Sprintf("the times in %s are cut off to steps of %v, as those of the other capture are: otherwise the latencies would be half a step too small or too large on average", s.Path, duration(a.TickNs)))
		}
	}
	notes = append(notes, a.clocksSay()...)
	if say := changesSay(a.Changes); say != "" {
		notes = append(notes, say)
	}
	if a.cutIn != "" {
		notes = append(notes, fmt.Sprintf("%s has only the beginning of its packets, so the key covers %d bytes of a frame", a.cutIn, a.extract.depth))
	}
	if a.Options.Trim > 0 {
		notes = append(notes, fmt.Sprintf("arrivals in the first %v are left out", a.Options.Trim))
	}
	if a.Options.Offset != 0 {
		notes = append(notes, fmt.Sprintf("%v was added to the times of %s, as requested", a.Options.Offset, a.Post.Path))
	}
	for _, d := range a.Directions() {
		if d.followed {
			notes = append(notes, fmt.Sprintf("the movement of the clocks against each other was taken off the arrivals in %s, as requested: what the minimum latency shows of it, so that a queue that never emptied is off, too", d.To))
		}
	}
	for _, d := range a.Directions() {
		if n := d.Counts.Again; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets arrived more than once in %s: latency is that of each packet's first arrival, and in the published files that of all arrivals", terminal.Grouped(n), d.To))
		}
		if n := d.Counts.PreForeign + d.Counts.PostForeign; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets of %s and %s of %s are between hosts of which the other capture has none, and are left out", terminal.Grouped(d.Counts.PreForeign), d.From, terminal.Grouped(d.Counts.PostForeign), d.To))
		}
		if n := d.Counts.Outside; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets of %s were due while %s did not capture, and are left out", terminal.Grouped(n), d.From, d.To))
		}
		if n := d.Counts.PostOutside; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets of %s were sent before the first packet of %s or after its last", terminal.Grouped(n), d.To, d.From))
		}
		if n := d.Counts.PreCopies; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets of %s are copies of others, at another interface or within %v, and are left out: a packet's time is that of its first copy; --pre-interface and --pre-direction choose another", terminal.Grouped(n), d.From, duration(copyNs)))
		}
		if n := d.Counts.PreUnkeyed; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets of %s have no such key", terminal.Grouped(n), d.From))
		}
		if n := d.Counts.PostUnkeyed; n > 0 {
			notes = append(notes, fmt.Sprintf("%s packets of %s have no such key", terminal.Grouped(n), d.To))
		}
	}
	if b := a.Back; b != nil {
		notes = append(notes, fmt.Sprintf("%s packets of %s pass %s first, and are evaluated apart; the published files and the result folder have only the others", terminal.Grouped(uint64(b.pre.count)), b.From, b.From))
	}
	if a.pre.flows.hostsOnly {
		notes = append(notes, fmt.Sprintf("there are more than %d flows, which are not distinguished", maxFlows))
	}
	return notes
}
