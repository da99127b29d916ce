package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// highestPriority is the highest of sched(7). A thread that stops a packet thread runs one priority
// above it.
const highestPriority = 99

// interruptPriority is what a kernel with PREEMPT_RT gives its interrupt threads
// (sched_set_fifo in kernel/sched/syscalls.c: MAX_RT_PRIO / 2).
const interruptPriority = 50

// checkScheduling checks real-time policies against the assigned CPUs. A real-time engine that
// never sleeps leaves no time on its CPU to others.
func (w *work) checkScheduling() error {
	for _, n := range w.nodes {
		w.noteRealTimeServices(n)
		s := n.spec.Scheduling
		if s == nil {
			continue
		}
		if n.demand.engine {
			n.because("its packet threads are scheduled as %s", s)
		}
		if !s.Policy.RealTime() || !n.demand.engine || n.guest() {
			continue
		}
		if !w.neverSleeps(n) {
			if !n.exclusive {
				w.note("%s is scheduled as %s on %s, so it runs there before everything else.", n.title(), s, cpuText(n.cpus))
			}
			continue
		}
		if err := w.checkSpinner(n, s); err != nil {
			return at(err, n.steps("scheduling"))
		}
	}
	return nil
}

// neverSleeps reports whether a node's engine never gives up its CPU: it polls, or it sends at an
// unlimited rate.
func (w *work) neverSleeps(n *node) bool {
	if n.demand.spin {
		return true
	}
	return w.stream != nil && n == w.path[0].node && w.stream.RatePPS == 0 && w.stream.RateBits == 0
}

func (w *work) checkSpinner(n *node, s *spec.Scheduling) error {
	if n.exclusive && len(n.cpus) == 1 && s.Priority == highestPriority {
		return at(&Conflict{n.title(), fmt.Sprintf("it polls with priority %d on its only CPU, so nothing could stop it", s.Priority),
			fmt.Sprintf("give it %d or less, or cpus: 2", highestPriority-1)}, n.steps("scheduling", "priority"))
	}
	if !n.exclusive && w.spinnersOn(n.cpus) >= len(n.cpus) {
		return &Impossible{fmt.Sprintf("%s polls as %s on %s, which it does not have exclusively", n.title(), s, cpuText(n.cpus)),
			"nothing else would run there", fmt.Sprintf("give it a CPU of its own (--set %s.cpus=1 on a host with more CPUs), wait: block, or policy: other with a niceness", n.key())}
	}
	w.noteStop(n.title()+" polls", n.engineCPU, s)
	if w.inv.Kernel.RealTime && s.Priority >= interruptPriority {
		w.note("%s polls with priority %d, and this kernel's interrupt threads have %d: the interrupt threads of CPU %d never run.",
			n.title(), s.Priority, interruptPriority, n.engineCPU)
	}
	return nil
}

// spinnersOn counts the real-time engines that never sleep among the nodes on these CPUs.
func (w *work) spinnersOn(cpus []int) int {
	count := 0
	for _, n := range w.nodes {
		s := n.spec.Scheduling
		if s != nil && s.Policy.RealTime() && n.demand.engine && w.neverSleeps(n) && slices.Equal(n.cpus, cpus) {
			count++
		}
	}
	return count
}

// noteStop notes how the kernel keeps a real-time thread from taking all of a CPU.
func (w *work) noteStop(whoDoes string, cpu int, s *spec.Scheduling) {
	if w.exp.Tuning == spec.TuningRealtime {
		return // the profile lifts that limit
	}
	stop := w.inv.RealTimeStop(cpu)
	lifts := fmt.Sprintf("tuning: realtime, or nines tune apply --cpus %d --profile realtime, lifts that", cpu)
	switch stop.By {
	case host.StopThrottling:
		w.note("%s as %s, and RT throttling stops it for %v of each %v, whether or not other threads need CPU %d (kernel.sched_rt_runtime_us); %s.",
			whoDoes, s, stop.Stop, stop.Period, cpu, lifts)
	case host.StopFairServer:
		w.note("%s as %s, and the kernel's fair server gives up to %v of each %v to ordinary threads that starve on CPU %d; isolation: isolated leaves few there; %s.",
			whoDoes, s, stop.Stop, stop.Period, cpu, lifts)
	}
}

// noteSystemd notes where a container's systemd has to share the CPU of the engine.
func (w *work) noteSystemd() error {
	for _, n := range w.nodes {
		r := n.spec.Rootfs
		if r != nil && r.Init == spec.InitSystemd && n.demand.engine && len(n.cpus) == 1 && n.exclusive {
			w.note("%s has one CPU, so its systemd and the services run beside the engine; --set %s.cpus=2 keeps them apart.", n.title(), n.key())
		}
	}
	return nil
}
