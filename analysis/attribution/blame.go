package attribution

import (
	"fmt"
	"strings"

	"nines.dev/nines/result"
)

// blame turns everything that ran on a CPU into the cause it counts as.
func (t *timeline) blame(number int32, c *cpu) {
	for i := range c.nested.list {
		e := &c.nested.list[i]
		switch e.Kind {
		case result.EventInterrupt:
			e.cause = t.interrupt(c, e.Event)
		case result.EventTimer:
			e.cause = timerCause(e.Event)
		case result.EventWork:
			e.cause = result.Cause{Kind: Workqueue, Name: e.Name, Source: t.running(number, e.BeginNs), CPU: int(number)}
		default:
			switch {
			case len(between(c.foreign, e.BeginNs, e.EndNs)) > 0:
				e.cause = result.Cause{Kind: Softirq, Name: e.Name, Source: ForOthers, CPU: int(number)}
			case !t.ownWork(c, e.Event):
				e.cause = result.Cause{Kind: Softirq, Name: e.Name, CPU: int(number)}
			}
		}
	}
	for i := range c.runs.list {
		e := &c.runs.list[i]
		e.cause = c.run(e.Event)
	}
}

// afterInterrupt is the longest delay between the end of an interrupt and a softirq that it raised.
const afterInterrupt = 3000

// longestInterrupt is the longest that the handler of an interrupt before a softirq may take.
const longestInterrupt = 1_000_000

// ForOthers is the source of a Softirq that received packets of others.
const ForOthers = "packets of others"

// ownWork reports whether a softirq is the kernel's part of sending, requested by a thread on the
// packets' path: it runs where that thread's system call enables softirqs again (local_bh_enable),
// not after an interrupt. Such a softirq is no cause of delay. Under a storm one softirq follows the
// other without leaving (up to 10 rounds, handle_softirqs() in kernel/softirq.c), and all rounds
// count as the first. Call it in the order of begins, as it asks for the causes of earlier ones.
func (t *timeline) ownWork(c *cpu, e result.Event) bool {
	if e.Name != "NET_RX" && e.Name != "NET_TX" {
		return false
	}
	if t.since(e.BeginNs) == e.BeginNs { // it began before recording: origin unknown
		return false
	}
	runs := c.runs.within(e.BeginNs, e.BeginNs+1)
	if len(runs) == 0 {
		return false
	}
	if _, ours := t.traced[runs[len(runs)-1].TID]; !ours {
		return false
	}
	for _, before := range c.nested.begun(e.BeginNs-longestInterrupt, e.BeginNs) {
		if before.EndNs <= e.BeginNs-afterInterrupt {
			continue
		}
		if before.Kind == result.EventInterrupt || before.Kind == result.EventSoftirq && before.cause.Kind != "" {
			return false
		}
	}
	return true
}

// interrupt names an interrupt: a timer's by the timer's function, one from another CPU by its
// sender.
func (t *timeline) interrupt(c *cpu, e result.Event) result.Cause {
	cause := result.Cause{Kind: Interrupt, Name: e.Name, CPU: int(e.CPU)}
	switch {
	case isLocalTimer(e.Name):
		// Several timers may fire at once: take the longest, and prefer any other timer to the
		// tick. The last timer's time includes reprogramming the clock.
		cause = result.Cause{Kind: Tick, Name: e.Name, CPU: int(e.CPU)}
		var longest int64 = -1
		for _, inner := range c.nested.begun(e.BeginNs, e.EndNs) {
			if inner.Kind != result.EventTimer {
				continue
			}
			found := timerCause(inner.Event)
			length := inner.EndNs - inner.BeginNs
			switch {
			case found.Kind == Timer && (cause.Kind == Tick || length > longest):
				cause, longest = found, length
			case found.Kind == Tick && cause.Kind == Tick:
				cause = found
			}
		}
	case isIPI(e.Name):
		cause.Kind = IPI
		call, sent := t.sender(c, e)
		if sent {
			cause.Source = t.running(call.CPU, call.BeginNs)
			if cause.Source == "" || cause.Source == idleThread {
				cause.Source = fmt.Sprintf("CPU %d", call.CPU)
			}
		}
		if t.flushes(c, e, call, sent) {
			cause.Kind, cause.Name = TLBShootdown, ""
		}
	}
	return cause
}

// idleThread is the name of a CPU's idle thread.
const idleThread = "idle"

// callBefore is the longest time between the sending of an IPI and its handling. If a hypervisor
// preempted the receiving CPU, the IPI arrives later than this, and no sender is named.
const callBefore = 200_000

// sender finds the call that caused an IPI: the last earlier call of the same kind.
func (t *timeline) sender(c *cpu, e result.Event) (call result.Event, ok bool) {
	calls := between(c.calls, e.BeginNs-callBefore, e.BeginNs)
	for i := len(calls) - 1; i >= 0; i-- {
		if isReschedule(calls[i].Name) == isReschedule(e.Name) {
			return calls[i], true
		}
	}
	return result.Event{}, false
}

// flushes reports whether an IPI was sent to flush the TLB: this CPU flushed it, or the sender
// recorded a flush request.
func (t *timeline) flushes(c *cpu, e result.Event, call result.Event, sent bool) bool {
	if isReschedule(e.Name) {
		return false
	}
	for _, flush := range between(c.flushes, e.BeginNs, e.EndNs) {
		if strings.Contains(flush.Name, "remote shootdown") {
			return true
		}
	}
	if !sent || t.cpus[call.CPU] == nil {
		return false
	}
	for _, other := range between(c.calls, call.BeginNs-10_000, call.BeginNs) {
		if other.CPU == call.CPU && strings.Contains(other.Name, "flush_tlb") {
			return true
		}
	}
	// The kernel notes the request just before it sends it (arch/x86/mm/tlb.c,
	// native_flush_tlb_multi).
	for _, flush := range between(t.cpus[call.CPU].flushes, call.BeginNs-10_000, call.BeginNs+1000) {
		if strings.Contains(flush.Name, "remote") && strings.Contains(flush.Name, "send") {
			return true
		}
	}
	return false
}

// timerCause names a timer after its function.
func timerCause(e result.Event) result.Cause {
	kind := Timer
	// tick_sched_timer until Linux 6.8, tick_nohz_handler since (kernel/time/tick-sched.c).
	if strings.HasPrefix(e.Name, "tick_") {
		kind = Tick
	}
	return result.Cause{Kind: kind, Name: e.Name, CPU: int(e.CPU)}
}

// run names a thread as a cause for the threads that wait for its CPU.
func (c *cpu) run(e result.Event) result.Cause {
	cause := result.Cause{Kind: Hog, Name: e.Name, CPU: int(e.CPU)}
	switch {
	case strings.HasPrefix(e.Name, "kworker/"):
		// The work item that took most of the worker's time, if known.
		cause = result.Cause{Kind: Workqueue, Source: e.Name, CPU: int(e.CPU)}
		var longest int64
		for _, inner := range c.nested.within(e.BeginNs, e.EndNs) {
			if length := inner.EndNs - inner.BeginNs; inner.Kind == result.EventWork && length > longest {
				cause.Name, longest = inner.Name, length
			}
		}
	case isKernelThread(e.Name):
		cause.Kind = KernelThread
	case e.Value > 0:
		cause.Kind, cause.Source = Priority, policyOf(e.Value)
	}
	return cause
}

// realTimePriority is the format of the source of a Priority cause.
const realTimePriority = "real-time priority %d"

// policyOf describes a real-time priority. The scheduler's events do not distinguish FIFO from RR.
func policyOf(priority int64) string {
	if priority >= 100 {
		return "SCHED_DEADLINE"
	}
	return fmt.Sprintf(realTimePriority, priority)
}

// RealTimePriority returns the real-time priority of the thread in a Priority cause; false for the
// deadline policy, which goes before all priorities.
func RealTimePriority(c result.Cause) (priority int, ok bool) {
	_, err := fmt.Sscanf(c.Source, realTimePriority, &priority)
	return priority, err == nil
}

func isLocalTimer(name string) bool { return name == "local_timer" }

func isReschedule(name string) bool { return strings.Contains(name, "resched") }

func isIPI(name string) bool {
	switch name {
	case "reschedule", "call_function", "call_function_single", "irq_work", "reboot":
		return true
	}
	return isReschedule(name)
}

// kernelThreads are name prefixes of kernel threads.
var kernelThreads = []string{"ksoftirqd/", "migration/", "rcu", "kswapd", "kcompactd", "kdamond.", "khugepaged", "watchdog", "cpuhp/",
	"irq/", "napi/", "kthreadd", "jbd2/", "oom_reaper", "writeback", "khungtaskd", "ktimers/", "idle_inject/", "ksmd", "kblockd"}

func isKernelThread(name string) bool {
	for _, prefix := range kernelThreads {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isOverflow reports whether a drop reason means a full queue (include/net/dropreason-core.h).
func isOverflow(reason string) bool {
	for _, word := range []string{"RCVBUF", "FULL_RING", "BACKLOG", "QUEUE_PURGE", "QDISC_DROP", "full"} {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}
