package attribution

import (
	"slices"

	"nines.dev/nines/result"
)

// usual is what a part of the latency takes anyway: of each cause, and of nobody (the
// zero Cause), what the median ordinary packet has of it. A timer tick that hits one
// packet in a thousand is none of it; the softirq that receives each packet is.
type usual [3]map[result.Cause]int64

// usualOf looks at the ordinary packets whose events were kept. Where queues overflowed
// in the trial the ordinary packets queue, too, which is not to pass for what a packet
// takes anyway: then it is the fastest tenth that shows how long nobody is to be blamed.
func usualOf(ordinary []passage, overflowed bool) usual {
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

// quantile is that of count values, of which those that are not in the list are 0.
func quantile(list []int64, count int, part float64) int64 {
	slices.Sort(list)
	rank := int(part*float64(count)) - (count - len(list))
	if count == 0 || rank < 0 || len(list) == 0 {
		return 0
	}
	return list[min(rank, len(list)-1)]
}

// travelOf is how long packets usually are on their way; the longest time there is where
// no ordinary packet shows it.
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

// divide makes of a part what is written of it: what each cause took beyond what
// is usual, the usual, and the rest.
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

// interruptOverhead is the most that an interrupt takes beside what its handler does:
// entering and leaving it, and in a virtual machine the exits to the host for both, of
// which nothing is recorded. Those from another CPU were seen to take 8.5 to 18 µs, with a handler
// of 0.9 (a guest of KVM, nines-disturb --kind ipi).
const interruptOverhead = 20_000

// withOverhead counts unexplained time of a part as that of the interrupts among its
// causes, as much as they may have taken.
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

// IsInterrupt tells the kinds of causes that take more than is recorded of them.
func IsInterrupt(kind string) bool {
	return kind == Interrupt || kind == IPI || kind == TLBShootdown || kind == Tick || kind == Timer
}
