package analyze

import "slices"

// A packet without an arrival is lost only if POST was capturing when it was due. POST shows that by
// packets before and after, or by its own statistics. Where it shows nothing, a capture that was
// stopped early and a device that died look the same.

// span is when a capture is known to have run, by its clock.
type span struct {
	// fromNs and toNs are by its packets and statistics. Outside of them it did not run if begins
	// and ends are set, and else nothing is known.
	fromNs, toNs int64
	begins, ends bool
}

// spanOf is that of a whole file, with all interfaces.
func (s *Source) span(offsetNs int64) span {
	r := span{fromNs: s.FirstNs, toNs: s.LastNs, begins: len(s.Info.Interfaces) > 0, ends: len(s.Info.Interfaces) > 0 && s.Damage == nil}
	for _, i := range s.Info.Interfaces {
		r.begins, r.ends = r.begins && i.StartNs != 0, r.ends && i.EndNs != 0
		if i.StartNs != 0 {
			r.fromNs = min(r.fromNs, i.StartNs+offsetNs)
		}
		if i.EndNs != 0 {
			r.toNs = max(r.toNs, i.EndNs+offsetNs)
		}
	}
	return r
}

// leaveOutside leaves out packets that were not due while the other capture ran, or of which that
// is not known. They are before the first pair, or after the last.
func (d *Direction) leaveOutside(pre, post span) {
	sent, received := d.pre.timesNs(), d.matched.receivedNs.all[:d.pre.count]
	isPair := func(ns int64) bool { return ns > leftOut }
	first := slices.IndexFunc(received, isPair)
	if first < 0 {
		return
	}
	last := len(received) - 1
	for !isPair(received[last]) {
		last--
	}
	if !slices.Contains(received[:first], lost) && !slices.Contains(received[last:], lost) && len(d.matched.unknown) == 0 {
		return
	}
	lag := d.lag(sent, received)
	for i := range first {
		due := span{fromNs: sent[i] + lag.leastNs, toNs: sent[i] + lag.mostNs}
		d.judge(&received[i], due.fromNs >= post.fromNs, post.begins && due.toNs < post.fromNs)
	}
	for i := last + 1; i < len(received); i++ {
		due := span{fromNs: sent[i] + lag.leastNs, toNs: sent[i] + lag.mostNs}
		d.judge(&received[i], due.toNs <= post.toNs, post.ends && due.fromNs > post.toNs)
	}
	for _, packet := range d.matched.unknown {
		if ns := d.post.timesNs()[packet]; ns-lag.leastNs < pre.fromNs || ns-lag.mostNs > pre.toNs {
			d.Counts.PostUnknown--
			d.Counts.PostOutside++
		}
	}
}

// lag is how much later the first arrivals are than they were sent.
func (d *Direction) lag(sent, received []int64) (all lag) {
	for i, ns := range received {
		if ns > leftOut {
			all.add(ns - sent[i])
		}
	}
	return all
}

// judge decides about a packet without an arrival.
func (d *Direction) judge(received *int64, wasLost, outside bool) {
	switch {
	case *received != lost || wasLost:
		return
	case outside:
		d.Counts.Outside++
	default:
		d.Counts.OutsideOrLost++
	}
	d.Counts.Lost--
	*received = leftOut
}
