package explain

import (
	"fmt"
	"strings"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
)

// Advice says what helps against a cause.
type Advice struct {
	// Do says what to do, in sentences. Own is the version for users who recorded their own program
	// and have no experiment file, if it differs.
	Do, Own string
	// Settings are those of nines tune that Profile sets; Boot are its boot parameters.
	Settings []string
	Profile  string
	Boot     []string
	// Findings are those of nines doctor.
	Findings []string
}

// words puts an advice into sentences; empty if nothing helps.
func (a Advice) words(c result.Cause, alone bool) string {
	var sentences []string
	switch {
	case alone && a.Own != "":
		sentences = append(sentences, a.Own)
	case a.Do != "":
		sentences = append(sentences, a.Do)
	}
	cpus := ""
	if c.CPU >= 0 {
		cpus = fmt.Sprintf(" --cpus %d", c.CPU)
	}
	if len(a.Settings) > 0 {
		sentences = append(sentences, fmt.Sprintf("`nines tune apply --profile %s%s` sets %s.", a.Profile, cpus, and(a.Settings)))
	}
	if len(a.Boot) > 0 {
		sentences = append(sentences, fmt.Sprintf("On the kernel's command line, %s helps: `nines tune plan%s` prints it.", and(a.Boot), cpus))
	}
	if len(a.Findings) > 0 {
		sentences = append(sentences, fmt.Sprintf("`nines doctor` explains more (%s).", strings.Join(a.Findings, ", ")))
	}
	return strings.Join(sentences, " ")
}

func and(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

const (
	latency  = "latency"
	realtime = "realtime"
)

// Keys that keep other threads off a CPU.
const (
	apart    = "`isolation: isolated` in the experiment file keeps other threads off the nodes' CPUs."
	ownApart = "An isolated cpuset (`cpuset.cpus.partition`), or `isolcpus` at boot, keeps other threads off its CPU."
)

// alone reports whether the recording is of the user's own program or a bare CPU, not of an
// experiment.
func alone(trace *result.Trace) bool {
	return trace != nil && len(trace.Threads) == 1 && trace.Threads[0].Role == result.RoleProgram
}

// adviceFor is the advice for a cause, by its name or by its kind.
func adviceFor(c result.Cause) Advice {
	for _, known := range byName {
		if known.kind == c.Kind && strings.HasPrefix(c.Name, known.name) {
			return known.Advice
		}
	}
	if c.Kind == attribution.Priority {
		return priorityAdvice(c)
	}
	return byKind[c.Kind]
}

// named is an advice for causes whose name starts with a prefix.
type named struct {
	kind, name string
	Advice
}

var byName = []named{
	{attribution.KernelThread, "kcompactd", Advice{Settings: []string{"vm.compaction_proactiveness"}, Profile: latency}},
	{attribution.KernelThread, "khugepaged", Advice{Settings: []string{"transparent_hugepage"}, Profile: latency, Findings: []string{"transparent-hugepages"}}},
	{attribution.KernelThread, "ksmd", Advice{Settings: []string{"ksm"}, Profile: latency, Findings: []string{"ksm"}}},
	{attribution.KernelThread, "kswapd", Advice{Do: "Memory is short: add memory, or run fewer programs.", Settings: []string{"vm.swappiness"}, Profile: latency, Findings: []string{"swap"}}},
	{attribution.KernelThread, "migration/", Advice{Do: "It stops the CPU for the lockup watchdog, or to move a thread away.", Settings: []string{"kernel.soft_watchdog"}, Profile: realtime, Findings: []string{"watchdogs"}}},
	{attribution.KernelThread, "rcu", Advice{Boot: []string{"rcu_nocbs"}, Findings: []string{"rcu-callbacks"}}},
	{attribution.KernelThread, "khungtaskd", Advice{Settings: []string{"kernel.hung_task_timeout_secs"}, Profile: latency}},
	{attribution.Workqueue, "vmstat", Advice{Settings: []string{"vm.stat_interval"}, Profile: latency, Findings: []string{"vmstat"}}},
	{attribution.Softirq, "NET_RX", Advice{Do: "Other traffic is received on this CPU. `rx: busy_poll` or `rx: threaded` on the link's end takes these packets out of the softirq.",
		Own:      "Packets are received on this CPU. If they are its own, `nines kbp start` takes them out of the softirq.",
		Settings: []string{"irq-affinity", "rps"}, Profile: latency, Findings: []string{"interrupts"}}},
	{attribution.Softirq, "NET_TX", Advice{Settings: []string{"xps", "irq-affinity-queue"}, Profile: latency, Findings: []string{"interrupts"}}},
	{attribution.Softirq, "TIMER", Advice{Settings: []string{"kernel.timer_migration", "vm.stat_interval"}, Profile: realtime, Boot: []string{"nohz_full"}, Findings: []string{"timer-tick"}}},
	{attribution.Softirq, "HRTIMER", Advice{Settings: []string{"kernel.timer_migration"}, Profile: realtime, Findings: []string{"timer-tick"}}},
	{attribution.Softirq, "RCU", Advice{Boot: []string{"rcu_nocbs"}, Findings: []string{"rcu-callbacks"}}},
	{attribution.Softirq, "SCHED", Advice{Do: "The scheduler balances load over CPUs: `isolation: isolated` takes the nodes' CPUs out of that.",
		Own: "The scheduler balances load over CPUs: an isolated cpuset takes its CPUs out of that.", Boot: []string{"nohz_full"}, Findings: []string{"not-isolated"}}},
	{attribution.IPI, "reschedule", Advice{Do: "Another CPU woke a thread on this one. If it is the engine's own, keep the CPU awake (`rx: awake`, or `wait: spin`); otherwise " + strings.ToLower(apart[:1]) + apart[1:],
		Own: "Another CPU woke a thread on this one. " + ownApart, Findings: []string{"not-isolated"}}},
}

var byKind = map[string]Advice{
	attribution.Hog: {Do: apart + " If they must be shared, `scheduling: {policy: fifo, priority: 1}` of the node precedes ordinary threads." + throttling,
		Own:      ownApart + " If it must be shared, a real-time priority (`chrt -f`) precedes ordinary threads." + throttling,
		Findings: []string{"not-isolated", "shared-cpus", "rt-throttling"}},
	attribution.KernelThread: {Do: "`isolation: isolated` moves the kernel threads that can be moved.",
		Own: ownApart, Findings: []string{"not-isolated"}},
	attribution.Workqueue: {Settings: []string{"workqueue-cpumask"}, Profile: latency, Findings: []string{"workqueues"}},
	attribution.Softirq:   {Settings: []string{"irq-affinity"}, Profile: latency, Findings: []string{"interrupts"}},
	attribution.Interrupt: {Settings: []string{"irq-affinity", "irq-default-affinity"}, Profile: latency, Findings: []string{"interrupts", "irqbalance"}},
	attribution.IPI: {Do: "Keep the sender away from the measurement: membarrier, perf, and changes of BPF programs or of the kernel's text interrupt all CPUs.",
		Settings: []string{"rcu_normal"}, Profile: realtime},
	attribution.TLBShootdown: {Do: "A process changed memory that a thread on this CPU shares with it: keep the threads of one process together, and lock or reserve its memory.",
		Settings: []string{"transparent_hugepage", "ksm", "vm.compaction_proactiveness"}, Profile: latency, Findings: []string{"numa-balancing", "transparent-hugepages"}},
	attribution.Tick: {Do: "The tick runs on each CPU with more than one runnable task, unless the kernel is configured to stop it.",
		Boot: []string{"nohz_full"}, Findings: []string{"timer-tick"}},
	attribution.Timer: {Do: "A program sets timers on this CPU, or left its timers there when it was moved. " + apart,
		Own:      "A program sets timers on this CPU, or left its timers there when it was moved. " + ownApart,
		Settings: []string{"kernel.timer_migration"}, Profile: realtime, Findings: []string{"not-isolated"}},
	attribution.IdleExit: {Do: "`rx: awake` on the link's end or `wait: spin` keeps the CPU from sleeping.",
		Own:      "`nines kbp start --rx awake` keeps a container's CPU from sleeping.",
		Settings: []string{"cpu_dma_latency"}, Profile: latency, Boot: []string{"idle"}, Findings: []string{"idle-states", "halt-exits"}},
	attribution.Scheduler: {Do: apart, Own: ownApart, Findings: []string{"not-isolated"}},
	attribution.Throttled: {Settings: []string{"kernel.sched_rt_runtime_us", "fair_server"}, Profile: realtime,
		Do: "Remove the control group's quota (cpu.max), if it has one.", Findings: []string{"rt-throttling"}},
	attribution.Stopped: {Do: "A program sends SIGSTOP, freezes the control group (`docker pause`), or traces the process: no host setting causes it."},
	attribution.Blocked: {Do: "A thread waits for memory that is not yet mapped or is swapped out, and for disks: lock the memory, or reserve hugepages.",
		Settings: []string{"transparent_hugepage", "vm.swappiness"}, Profile: latency, Findings: []string{"swap", "hugepages"}},
	attribution.RingFull:  {Do: "The receiver is slower than the arriving traffic: send less (`rate_pps`, `burst`), or let it receive more at once (`io: batch`) and not sleep (`wait: spin`). A shorter queue loses packets instead of delaying them."},
	attribution.Queue:     {Do: "More arrived at once than can be handled: send less (`rate_pps`, `burst`), or let the receiver receive more at once (`io: batch`)."},
	attribution.Forwarder: {Do: "It is the bottleneck: more CPUs for it, or less traffic. nines' own forwarders also have `wait: spin` and `io: batch`."},
	attribution.Impaired:  {Do: "The experiment file asks for it (`impair`, `impair_from`): compare with `impair: {}`, which keeps the packets' path but does not impair them."},
	attribution.Unexplained: {Do: "A dedicated machine, or dedicated virtual CPUs, avoids the hypervisor's delays.",
		Findings: []string{"hypervisor", "halt-exits"}},
}

// All returns every advice, for a test that checks the names in them.
func All() []Advice {
	var list []Advice
	for _, n := range byName {
		list = append(list, n.Advice)
	}
	for _, kind := range attribution.Kinds() {
		list = append(list, adviceFor(result.Cause{Kind: kind}))
	}
	return list
}
