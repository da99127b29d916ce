package attribution

import (
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// path lists the threads that handle the packets of a trial, in the order of the packets' path.
type path struct {
	sender, receiver int32 // TIDs; 0 is unknown, and then its part blames nothing
	between          []int32
}

func pathOf(threads []result.TracedThread) path {
	var p path
	for _, t := range threads {
		switch tid := int32(t.TID); t.Role {
		case result.RoleSender:
			if p.sender == 0 {
				p.sender = tid
			}
		case result.RoleReceiver:
			if p.receiver == 0 {
				p.receiver = tid
			}
		default:
			if !slices.Contains(p.between, tid) {
				p.between = append(p.between, tid)
			}
		}
	}
	// A single thread is a program, and the question is what kept it from running.
	if p.sender == 0 && p.receiver == 0 && len(p.between) == 1 {
		p.sender, p.receiver, p.between = p.between[0], p.between[0], nil
	}
	return p
}

// passage is a packet on its path. Times are CLOCK_MONOTONIC.
type passage struct {
	outlier                   result.Outlier
	intended, tx, arrival, rx int64
	phases                    [3]phase
	// recorded is false if the events around the packet were not kept.
	recorded bool
	// lost is what was lost of its events, if that is too much to explain it.
	lost *result.Loss
}

// phase is a part of a packet's latency, with what took the time.
type phase struct {
	begin, end int64
	took       tally
}

const (
	send = iota
	transit
	receive
)

var phaseNames = [3]string{send: result.PhaseSend, transit: result.PhaseTransit, receive: result.PhaseReceive}

// passageOf divides a packet's latency into its phases and finds what held it up in each.
func (t *timeline) passageOf(o result.Outlier, startedNs int64, p path, travel int64, impaired impairedLinks) passage {
	g := passage{outlier: o, intended: startedNs + o.IntendedNs, rx: startedNs + o.RxNs}
	g.rx = max(g.rx, g.intended)
	g.tx = min(max(startedNs+o.TxNs, g.intended), g.rx)
	// A link that holds a packet keeps it from the receiver for so long.
	g.arrival = min(max(t.arrival(o, p, g.tx, g.rx), g.tx+impaired.least()), g.rx)
	g.phases[send] = phase{g.intended, g.tx, tallyOf(t.held(p.sender, g.intended, g.tx))}
	g.phases[transit] = phase{g.tx, g.arrival, tallyOf(t.onTheWay(p, g.tx, g.arrival, travel))}
	impaired.claim(g.phases[transit].took)
	g.phases[receive] = phase{g.arrival, g.rx, tallyOf(t.held(p.receiver, g.arrival, g.rx))}
	return g
}

// arrival is when a packet reached its receiver: when the receiver was woken for it or, if it did
// not sleep, the earliest time at which it can have missed the packet. In results of before
// (details.poll_gap_from) that is when its previous look ended, as nothing says when it began.
func (t *timeline) arrival(o result.Outlier, p path, tx, rx int64) int64 {
	looked := max(tx, rx-max(o.PollGapNs, 0))
	of := t.threads[p.receiver]
	if of == nil {
		return looked
	}
	since := t.since(tx)
	// The last sleep before it had the packet.
	runs := of.runs.within(tx, rx+1)
	for i := len(runs) - 1; i >= 0; i-- {
		var before *noted
		if i > 0 {
			before = &runs[i-1]
		} else if earlier := of.runs.before(runs[0]); earlier != nil {
			before = recent(earlier, since)
		}
		if before != nil && before.Preempted {
			continue
		}
		if before != nil && (before.State == "T" || before.State == "t") {
			// A packet that comes while the thread is stopped wakes nothing.
			return max(tx, min(looked, before.EndNs))
		}
		if woken, ok := t.woken(p.receiver, before, &runs[i], since); ok && woken > tx {
			if before != nil && before.State == "S" {
				// The gap may have a look that was before the sleep.
				return woken
			}
			return min(woken, looked)
		}
		break
	}
	return looked
}

// before returns the event before e in the list.
func (l *intervals) before(e noted) *noted {
	i := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= e.BeginNs })
	if i == 0 {
		return nil
	}
	return &l.list[i-1]
}

// onTheWay finds what held up the threads that a packet passes. The sender can delay the packet
// only until the sender has had the CPU for the usual transit time: by then the packet has left it.
func (t *timeline) onTheWay(p path, begin, end, travel int64) []span {
	spans := clipWork(t.held(p.sender, begin, end), travel)
	for _, tid := range p.between {
		spans = overlay(spans, t.held(tid, begin, end))
	}
	return overlay(spans, t.held(p.receiver, begin, end))
}

// clipWork drops whatever held a thread up after it had worked for the given time.
func clipWork(spans []span, work int64) []span {
	var kept []span
	for _, s := range spans {
		if work < 0 {
			s.cause = result.Cause{}
		}
		if !s.named() {
			work -= s.length()
		}
		kept = appendSpan(kept, s)
	}
	return kept
}
