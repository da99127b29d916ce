package dryrun

import (
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// receiveSteps are the dry run's steps for receive modes.
func receiveSteps(add func(string, ...any), n plan.Node) {
	for _, way := range plan.ReceiveOrder {
		interfaces := strings.Join(n.ReceivedBy(way), ", ")
		if interfaces == "" {
			continue
		}
		r, who := n.Receive, n.Name
		if n.Guest() {
			who += ", in its guest"
		}
		switch way {
		case spec.ReceiveThreaded:
			add("node %s: %s: GRO on and TSO of the other end off where it is a veth; threaded NAPI, its threads on CPUs %s",
				who, interfaces, cpulist.Format(r.CPUs))
		case spec.ReceiveBusyPoll:
			add("node %s: %s: GRO on and TSO of the other end off where it is a veth%s; polled by %s on CPUs %s, scheduled as %s",
				who, interfaces, deferralText(r), mechanismText(r.Mechanism), cpulist.Format(r.CPUs), r.Polling)
		case spec.ReceiveSuspend:
			add("node %s: %s: GRO on and TSO of the other end off where it is a veth; interrupts deferred, and suspended while polled", who, interfaces)
		case spec.ReceiveAwake:
			add("node %s: keep CPUs %s awake, for %s: by PM QoS, or nines-poller at SCHED_IDLE", who, cpulist.Format(r.AwakeCPUs), interfaces)
		case spec.ReceiveInterrupt:
		}
	}
}

// deferralText says how interrupts are deferred: not at all where the pollers may not get the CPU.
func deferralText(r *plan.Receive) string {
	if r.CPUsExclusive {
		return ", interrupts deferred"
	}
	return ""
}

func mechanismText(m spec.PollMechanism) string {
	if m == spec.PollAuto {
		return "the best mechanism that the kernel has"
	}
	return string(m)
}
