package analyze

import (
	"fmt"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// driftShare is the largest fraction of the median latency that a drift may reach without a note.
const driftShare = 0.1

// median is that of the first arrivals, by which the clocks are judged too; 0 for fewer than two.
func (a *Analysis) median() int64 {
	if median := a.latency().P50; median != nil {
		return *median
	}
	return 0
}

// verdict judges the pair by what the captures themselves show. Notes has what they cannot show.
func (a *Analysis) verdict() (result.Verdict, []string) {
	c := a.Counts
	var reasons []string
	say := func(when bool, format string, args ...any) {
		if when {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	for _, s := range []Source{a.Pre, a.Post} {
		say(s.Damage != nil, "%s is damaged: %v", s.Path, s.Damage)
		for _, i := range s.Info.Interfaces {
			say(i.Dropped > 0, "%s: the capturing tool lost %s packets of interface %q", s.Path, terminal.Grouped(i.Dropped), i.Name)
		}
		say(s.Seen.Untimed > 0, "%s: %s packets have no time", s.Path, terminal.Grouped(s.Seen.Untimed))
		say(s.Seen.Backwards > 0, "%s: times go back %s times, by up to %v: the clock was set, or several queues were captured; packets are taken in order of their times",
			s.Path, terminal.Grouped(s.Seen.Backwards), duration(s.Seen.LargestBackwardsNs))
	}
	say(c.PostUnknown > 0, "%s packets of %s are not in %s: that capture missed them, or something else sent or changed them", terminal.Grouped(c.PostUnknown), a.Post.Path, a.Pre.Path)
	say(c.PreAmbiguous > 0, "%s packets of %s have an ambiguous key, and are left out", terminal.Grouped(c.PreAmbiguous), a.Pre.Path)
	say(c.Late > 0, "%s packets arrived 5 s late or more, and count as lost", terminal.Grouped(c.Late))
	early := fmt.Sprintf("%s packets are earlier in %s than in %s, and count as lost: the clocks are apart, or the captures are swapped", terminal.Grouped(c.Early), a.Post.Path, a.Pre.Path)
	if c.Early > c.Pairs {
		return result.Invalid, append([]string{early}, reasons...)
	}
	say(c.Early > 0, "%s", early)
	if d := a.Clocks.Drift; d.Known() {
		median := a.median()
		over := max(d.OverNs, -d.OverNs)
		say(float64(over) > driftShare*float64(median), "the clocks drift by %v over the captures, which is more than %.0f %% of the median latency (%v): the latencies include it", duration(over), 100*driftShare, duration(median))
	}
	for _, step := range a.Clocks.Steps {
		say(true, "from %v on the minimum latency is %+d ns different: a clock was set, or the path changed", duration(step.AtNs-a.Clocks.FirstNs).Round(time.Millisecond), step.ByNs)
	}
	if len(reasons) > 0 {
		return result.Noisy, reasons
	}
	return result.Clean, nil
}

// Notes say how the pair was evaluated, and what captures cannot show.
func (a *Analysis) Notes() []string {
	notes := []string{
		fmt.Sprintf("a pair of captures, %s and %s; packets are identified by the key %q", a.Pre.Path, a.Post.Path, a.Options.Key),
		"latency is from the time in the first capture: the intended send times are not known, so delays of the sender are not included",
		"captures do not show what the hosts did meanwhile: the verdict covers only the captures",
	}
	for _, s := range []Source{a.Pre, a.Post} {
		coarse := s.Info.Resolution
		for _, i := range s.Info.Interfaces {
			coarse = min(coarse, i.Resolution)
			if !i.LinkType.Understood() {
				notes = append(notes, fmt.Sprintf("%s has packets of %s: nines can compare only their first bytes; it understands Ethernet, raw IP, Linux cooked and loopback", s.Path, i.LinkType))
			}
		}
		if coarse < packetfile.Nanoseconds {
			notes = append(notes, fmt.Sprintf("the times in %s are in steps of %s: latencies are no finer", s.Path, coarse))
		}
	}
	notes = append(notes, a.Clocks.Sentences()...)
	if a.Options.MaskTTL {
		notes = append(notes, "TTL, IP checksum and VLAN tags are not part of the key")
	}
	if a.Options.Trim > 0 {
		notes = append(notes, fmt.Sprintf("arrivals in the first %v are left out", a.Options.Trim))
	}
	if a.Options.Offset != 0 {
		notes = append(notes, fmt.Sprintf("%v was added to the times of %s, as requested", a.Options.Offset, a.Post.Path))
	}
	if n := a.Counts.Again; n > 0 {
		notes = append(notes, fmt.Sprintf("%s packets arrived more than once: latency is that of each packet's first arrival, and in the published files that of all arrivals", terminal.Grouped(n)))
	}
	if n := a.Counts.PreUnkeyed; n > 0 {
		notes = append(notes, fmt.Sprintf("%s packets of %s have no such key", terminal.Grouped(n), a.Pre.Path))
	}
	if n := a.Counts.PostUnkeyed; n > 0 {
		notes = append(notes, fmt.Sprintf("%s packets of %s have no such key", terminal.Grouped(n), a.Post.Path))
	}
	if a.pre.flows.tooFew {
		notes = append(notes, fmt.Sprintf("there are more than %d flows, which are not distinguished", maxFlows))
	}
	return notes
}
