package trace

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"nines.dev/nines/result"
)

// Carrier is a thread that packets were seen with, or one that never sleeps.
type Carrier struct {
	TID int
	// Node is that of the devices at which it was seen; empty: none.
	Node string
	// Sends says that packets left by its system calls; Woken that it was woken for some, or read them.
	Sends, Woken bool
	// Sleeps says that it was seen to sleep, and RanNs for how long it was seen to run.
	Sleeps bool
	RanNs  int64
}

// Carriers are the threads that the kernel's stages show with packets, and all others that ran, by their TIDs. The events
// are in order. A packet that a softirq forwards is not that of the thread which the softirq has interrupted.
func Carriers(events []result.Event) []Carrier {
	within, all := softirqsOf(events), map[int32]*Carrier{}
	of := func(tid int32) *Carrier {
		if all[tid] == nil {
			all[tid] = &Carrier{TID: int(tid)}
		}
		return all[tid]
	}
	wakened, running := map[int32]int32{}, map[int32]result.Event{} // by CPU: the thread made runnable last, the one that ran last
	for _, e := range events {
		switch e.Kind {
		case result.EventThread:
			running[e.CPU] = e
			one := of(e.TID)
			one.RanNs += e.EndNs - e.BeginNs
			one.Sleeps = one.Sleeps || e.State != ""
		case result.EventWakeup:
			wakened[e.CPU] = e.TID
		case result.EventStage:
			at, device, _ := strings.Cut(e.Name, " ")
			node, _, _ := strings.Cut(device, ":")
			one := of(e.TID)
			switch {
			case at == stages[stageWake]:
				if tid := wakened[e.CPU]; tid > 0 {
					one = of(tid)
					one.Woken = true
				}
			case within.at(e.CPU, e.BeginNs), running[e.CPU].TID != e.TID, running[e.CPU].EndNs < e.BeginNs:
				// Where a switch is missing, the two name different threads.
				continue
			case at == stages[stageRead]:
				one.Woken = true
			case Leaves(at):
				one.Sends = true
			default:
				continue
			}
			one.Node = cmp.Or(one.Node, node)
		}
	}
	delete(all, 0) // idle
	delete(all, -1)
	list := make([]Carrier, 0, len(all))
	for _, one := range all {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Carrier) int { return cmp.Compare(a.TID, b.TID) })
	return list
}

// softirqTimes are when softirqs ran, by CPU, in order.
type softirqTimes map[int32][]span

func softirqsOf(events []result.Event) softirqTimes {
	all := softirqTimes{}
	for _, e := range events {
		if e.Kind == result.EventSoftirq {
			all[e.CPU] = append(all[e.CPU], span{e.BeginNs, e.EndNs})
		}
	}
	for cpu, list := range all {
		all[cpu] = merge(list)
	}
	return all
}

// at reports whether a softirq ran on a CPU.
func (s softirqTimes) at(cpu int32, ns int64) bool {
	list := s[cpu]
	i := sort.Search(len(list), func(i int) bool { return list[i].begin > ns })
	return i > 0 && ns <= list[i-1].end
}
