package attribution

import (
	"slices"

	"nines.dev/nines/result"
)

// usual is what each part of the latency normally contains: for each cause, and for no cause (the
// zero Cause), the amount that the median ordinary packet has. It leaves out a timer tick that hits
// one packet in a thousand, and includes the softirq that receives each packet.
type usual [3]map[result.Cause]int64

// usualOf computes it from the ordinary packets whose events were kept. If queues overflowed in the
// trial, the ordinary packets queue too, and that must not count as usual: then the fastest tenth
// shows how much time without a cause is usual.
//
// What no packet needs is never ordinary, however common: others' threads, their timers, packets and
// TLB shootdowns, and what the experiment does deliberately. Otherwise a storm that hits most packets would be
// reported as what packets take anyway.
func usualOf(ordinary []passage, overflowed bool, ours threads) usual {
	var u usual
	for n := range u {
		u[n] = make(map[result.Cause]int64)
		lists := make(map[result.Cause][]int64)
		for i := range ordinary {
			for cause, took := range ordinary[i].phases[n].took {
				lists[cause] = append(lists[cause], took.ns)
			}
		}
		for cause, list := range lists {
			if ours.disturbs(cause) {
				continue
			}
			part := 0.5
			if overflowed && cause.Kind == "" {
				part = 0.1
			}
			if ns := quantile(list, len(ordinary), part); ns > 0 {
				u[n][cause] = ns
			}
		}
	}
	return u
}

// threads are those of the packets' path.
type threads map[int32]result.TracedThread

// disturbs reports whether a cause is the doing of others, which no packet needs.
func (t threads) disturbs(c result.Cause) bool {
	switch c.Kind {
	case Priority, Hog:
		for _, one := range t {
			if one.Name == c.Name {
				return false
			}
		}
		return true
	case Timer: // of programs; those of the kernel may be what wakes a thread for its packet
		return c.Name == "timerfd_tmrproc" || c.Name == "posix_timer_fn"
	case Softirq:
		return c.Source == ForOthers
	case TLBShootdown, Stopped, Throttled, Impaired:
		return true
	}
	return false
}

// quantile of count values; values missing in the list are 0.
func quantile(list []int64, count int, part float64) int64 {
	if count == 0 {
		return 0
	}
	slices.Sort(list)
	zeros := count - len(list)
	if rank := int(result.Rank(part, uint64(count))); rank > zeros {
		return list[rank-zeros-1]
	}
	return 0
}

// travelOf is the usual transit time of packets; the largest possible time if no ordinary packet
// shows it.
func travelOf(ordinary []result.Outlier) int64 {
	if len(ordinary) == 0 {
		return 1 << 62
	}
	var list []int64
	for _, o := range ordinary {
		list = append(list, max(o.RxNs-o.TxNs, 0))
	}
	return quantile(list, len(list), 0.5)
}

// divide splits a phase for the result file: what each cause took beyond the usual, the usual, and
// the rest.
func (u usual) divide(n int, p phase) result.PhaseCauses {
	d := result.PhaseCauses{Phase: phaseNames[n], BeginNs: p.begin, EndNs: p.end, Causes: []result.CauseShare{}}
	for cause, took := range p.took {
		ns := took.ns
		anyway := min(ns, u[n][cause])
		d.OrdinaryNs += anyway
		switch {
		case cause.Kind == "":
			d.UnexplainedNs = ns - anyway
		case ns > anyway:
			d.Causes = append(d.Causes, result.CauseShare{Cause: cause, Ns: ns - anyway})
		}
	}
	d.Causes, d.UnexplainedNs = withOverhead(d.Causes, d.UnexplainedNs, p.took)
	sortShares(d.Causes)
	return d
}

// interruptOverhead is the most that an interrupt takes besides its handler: entry and exit and, in
// a virtual machine, the VM exits for both, none of which is recorded. IPIs took 8.5 to 18 µs, with
// a handler of 0.9 µs (a KVM guest, nines-disturb --kind ipi).
const interruptOverhead = 20_000

// withOverhead counts unexplained time of a part as overhead of the interrupts among its causes, up
// to what they may have taken.
func withOverhead(causes []result.CauseShare, unexplained int64, took tally) ([]result.CauseShare, int64) {
	times := make(map[result.Cause]int64)
	var all int64
	for _, share := range causes {
		if IsInterrupt(share.Cause.Kind) {
			times[share.Cause] = took[share.Cause].times
			all += times[share.Cause]
		}
	}
	if all == 0 || unexplained <= 0 {
		return causes, unexplained
	}
	most := min(unexplained, all*interruptOverhead)
	for i := range causes {
		ns := most * times[causes[i].Cause] / all
		causes[i].Ns += ns
		unexplained -= ns
	}
	return causes, unexplained
}

// IsInterrupt reports whether a kind of cause takes more time than is recorded for it.
func IsInterrupt(kind string) bool {
	return kind == Interrupt || kind == IPI || kind == TLBShootdown || kind == Tick || kind == Timer
}
