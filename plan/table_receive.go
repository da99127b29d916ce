package plan

import (
	"fmt"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// writeReceived lists the interfaces with a receive mode other than interrupt.
func (p *Plan) writeReceived(t *terminal.Table) {
	headed := false
	for _, n := range p.Nodes {
		for _, i := range n.Interfaces {
			if i.RX == "" || n.Receive == nil {
				continue
			}
			by, cpus, policy := n.Receive.text(i.RX)
			if !headed {
				t.Row()
				t.Row("INTERFACE", "RX", "BY", "CPUS", "SCHEDULING")
				headed = true
			}
			t.Row(n.Name+":"+i.Name, i.RX, by, cpus, policy)
		}
	}
}

// text says which threads receive in a mode, on which CPUs, and with which policy.
func (r *Receive) text(way spec.Receive) (by, cpus, policy string) {
	own := choose(r.CPUsExclusive, "", " (shared)")
	switch way {
	case spec.ReceiveAwake:
		return "interrupts, CPUs awake", cpulist.Format(r.AwakeCPUs), "idle"
	case spec.ReceiveThreaded:
		policy := "the kernel's"
		if r.Threaded != nil {
			policy = r.Threaded.String()
		}
		return "kernel threads", cpulist.Format(r.CPUs) + own, policy
	case spec.ReceiveBusyPoll:
		by := "polling threads (" + string(r.Mechanism) + ")"
		if r.Adaptive {
			by = fmt.Sprintf("polling threads (%s, sleeping up to %v)", r.Mechanism, r.Longest)
		}
		return by, cpulist.Format(r.CPUs) + own, r.Polling.String()
	case spec.ReceiveSuspend:
		return "interrupts, off while polled", "-", "-"
	case spec.ReceiveInterrupt:
	}
	return "interrupts", "-", "-"
}
