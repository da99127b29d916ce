package clock

import (
	"fmt"
	"time"
)

// implausible is a least latency that hardly any network has between two capture points: more
// likely, the clocks differ.
const implausible = time.Second

// Sentences explain the estimate to people: first the offset, then drift and steps.
func (e Estimate) Sentences() []string {
	if e.Packets == 0 {
		return []string{"no packet was captured at both points, so nothing is known about their clocks"}
	}
	var all []string
	say := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	least := time.Duration(e.LeastNs)
	switch {
	case e.LeastNs < 0:
		say("%d of %d packets arrive before they were sent: the second capture's clock is behind the first's by at least %v, and every latency is too small by as much; the captures may also be swapped", e.Negative, e.Packets, -least)
	case least >= implausible:
		say("the minimum latency is %v: probably the second capture's clock is ahead, but one-way packets cannot distinguish that from a constant delay", least)
	default:
		say("the second capture's clock is ahead of the first's by at most the minimum latency, %v; one-way packets cannot distinguish an offset from a constant delay", least)
	}
	switch d := e.Drift; {
	case d == nil:
		say("there are too few packets, or too short a time, to see a drift")
	case d.Known():
		say("the clocks drift: the second is faster by %.3g ppm (%.3g to %.3g, 95 %%), %v over the %v of the captures, unless a queue grew all the time", d.PPM, d.LowPPM, d.HighPPM, time.Duration(d.OverNs), time.Duration(e.SpanNs).Round(time.Millisecond))
	default:
		say("no drift is visible: %.3g ppm (%.3g to %.3g, 95 %%)", d.PPM, d.LowPPM, d.HighPPM)
	}
	if w := e.Wander; w != nil {
		say("the minimum latency wanders by %v over the captures (± %v), as with clocks that NTP or PTP steers or that warm up, or with a queue that never empties: the latencies include it, and --follow-clock takes it off", time.Duration(w.RangeNs), time.Duration(w.BoundNs))
	}
	for _, s := range e.Steps {
		say("from %v after the first packet on, the minimum latency is %+d ns different: a clock was set, or the path changed", time.Duration(s.AtNs-e.FirstNs).Round(time.Millisecond), s.ByNs)
	}
	return all
}
