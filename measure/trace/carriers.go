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

// fewestPackets is how many packets a thread must be seen with: one may be the packet of another thread, which it hands to a
// driver, or may come just as a timer wakes it.
const fewestPackets = 2

// Carriers are the threads that the kernel's stages show with packets, and all others that ran, by their TIDs. The events
// are in order. A packet that a softirq forwards is not that of the thread which the softirq has interrupted.
func Carriers(events []result.Event) []Carrier {
	within, queued, all := softirqsOf(events), queuedOf(events), map[int32]*Carrier{}
	sends, woken := map[*Carrier]int{}, map[*Carrier]int{}
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
					woken[one]++
				}
			case within.at(e.CPU, e.BeginNs), running[e.CPU].TID != e.TID, running[e.CPU].EndNs < e.BeginNs:
				// Where a switch is missing, the two name different threads.
				continue
			case at == stages[stageRead]:
				woken[one]++
			case at == stages[stageQdisc], at == stages[stageDriver] && !queued[packetAt{e.Value, device}]:
				// A thread that empties a queue hands the packets of others to the driver, too.
				sends[one]++
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
		one.Sends, one.Woken = sends[one] >= fewestPackets, woken[one] >= fewestPackets
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Carrier) int { return cmp.Compare(a.TID, b.TID) })
	return list
}

// packetAt is a packet at a device.
type packetAt struct {
	id     int64
	device string
}

// queuedOf are the packets that entered the queue of a device.
func queuedOf(events []result.Event) map[packetAt]bool {
	all := map[packetAt]bool{}
	for _, e := range events {
		if at, device, _ := strings.Cut(e.Name, " "); e.Kind == result.EventStage && at == stages[stageQdisc] {
			all[packetAt{e.Value, device}] = true
		}
	}
	return all
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
