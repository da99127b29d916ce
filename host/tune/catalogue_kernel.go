package tune

import (
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
)

// Words whose value depends on the host.
const (
	// wordAuto lets the kind choose the value.
	wordAuto = "auto"
	// wordHousekeeping is the list of the housekeeping CPUs.
	wordHousekeeping = "housekeeping"
)

var timerKinds = []kind{
	{
		Advice: Advice{
			Name:   "vm.stat_interval",
			What:   "Seconds between the kernel's collections of each CPU's memory counters: work on every CPU that ran. A longer interval is better: each collection takes a few microseconds.",
			Cost:   "The counters of /proc/vmstat and free memory are up to that many seconds old.",
			Source: "Documentation/admin-guide/kernel-per-CPU-kthreads.rst (vmstat); tuned network-latency",
		},
		path: "/proc/sys/vm/stat_interval", values: words("10", "10", ""),
	},
	{
		Advice: Advice{
			Name:   "kernel.timer_migration",
			What:   "Whether timers may be queued on another CPU than the one that asks for them. 0 keeps the timers of idle housekeeping CPUs off busy measuring ones. With nohz_full on the chosen CPUs 1 is right: the kernel then moves timers off them and never onto them.",
			Cost:   "0 wakes idle CPUs for their own timers, which costs power.",
			Source: "kernel/sched/core.c, get_nohz_timer_target(); tuned network-latency (0), OpenShift PerformanceProfile (1)",
		},
		path: "/proc/sys/kernel/timer_migration", values: words(wordAuto, wordAuto, ""),
		value: func(s site, word string) string {
			if word != wordAuto {
				return word
			}
			if len(s.chosen) > 0 && all(s, func(c host.CPU) bool { return c.NoHzFull }) {
				return "1"
			}
			return "0"
		},
	},
	{
		Advice: Advice{
			Name:   "rcu_normal",
			What:   "Turns expedited RCU grace periods into normal ones: an expedited one interrupts all CPUs (IPIs).",
			Cost:   "Waiting for RCU is slower: changes of network devices, BPF programs, namespaces take tens of milliseconds more.",
			Source: "kernel/ksysfs.c; tuned network-latency by boot (rcupdate.rcu_normal_after_boot=1)",
		},
		path: "/sys/kernel/rcu_normal", values: words("", "1", ""),
	},
}

var watchdogKinds = []kind{
	{
		Advice: Advice{
			Name:   "kernel.nmi_watchdog",
			What:   "The hard lockup watchdog uses a performance counter of each CPU and a non-maskable interrupt about every 10 s; 0 disables both.",
			Cost:   "A CPU that hangs with interrupts off is no longer detected.",
			Source: "Documentation/admin-guide/lockup-watchdogs.rst; tuned network-latency; thesis listing 5.13",
		},
		path: "/proc/sys/kernel/nmi_watchdog", values: words("0", "0", "0"), absent: needsConfig("HARDLOCKUP_DETECTOR"),
	},
	{
		Advice: Advice{
			Name:   "kernel.watchdog_cpumask",
			What:   "The CPUs that the lockup watchdogs watch, each with a timer every 4 s and a wake-up of a stopper thread: only the housekeeping ones.",
			Cost:   "A chosen CPU that hangs is not reported.",
			Source: "Documentation/admin-guide/sysctl/kernel.rst (watchdog_cpumask)",
		},
		path: "/proc/sys/kernel/watchdog_cpumask", values: words(wordHousekeeping, "", ""),
		value: func(s site, word string) string {
			if word == wordHousekeeping {
				return cpulist.Format(s.housekeeping())
			}
			return word
		},
	},
	{
		Advice: Advice{
			Name:   "kernel.soft_watchdog",
			What:   "The soft lockup watchdog: a timer every 4 s on each CPU and a wake-up of the highest priority. It also reports a real-time thread that spins for 20 s. 0 disables it on all CPUs.",
			Cost:   "A task that keeps a CPU from all others is no longer reported.",
			Source: "Documentation/admin-guide/lockup-watchdogs.rst; thesis listing 5.13 (nosoftlockup)",
		},
		path: "/proc/sys/kernel/soft_watchdog", values: words("", "0", ""),
	},
	{
		Advice: Advice{
			Name:   "kernel.hung_task_timeout_secs",
			What:   "How long a task may wait in the kernel before khungtaskd, which scans all tasks, reports it. A longer time makes its scans rarer.",
			Cost:   "A hung task is reported later.",
			Source: "Documentation/admin-guide/sysctl/kernel.rst; tuned network-latency",
		},
		path: "/proc/sys/kernel/hung_task_timeout_secs", values: words("600", "600", ""),
	},
	{
		Advice: Advice{
			Name:   "machinecheck.ignore_ce",
			What:   "Stops polling the machine-check banks for corrected errors, a timer on each CPU every 5 minutes, and their interrupt.",
			Cost:   "Corrected memory errors, the first signs of a failing module, are no longer logged.",
			Source: "arch/x86/kernel/cpu/mce/core.c; tuned cpu-partitioning; thesis listing 5.13 (mce=ignore_ce)",
		},
		path: "/sys/devices/system/machinecheck/machinecheck0/ignore_ce", values: words("1", "1", ""),
		absent: func(s site) string {
			if s.inv.Kernel.Machine != "" && s.inv.Kernel.Machine != "x86_64" {
				return "only x86 has this form of machine checks"
			}
			return needsConfig("X86_MCE")(s)
		},
	},
}

var schedulerKinds = []kind{
	{
		Advice: Advice{
			Name:   "kernel.sched_rt_runtime_us",
			What:   "How long real-time tasks may run in each second (950 ms): a FIFO thread that spins is stopped for 50 ms every second. -1 ends that.",
			Cost:   "A real-time thread that spins on a CPU with other work locks that work out for good; on a shell's CPU, the shell too.",
			Source: "Documentation/scheduler/sched-rt-group.rst; tuned realtime",
		},
		path: "/proc/sys/kernel/sched_rt_runtime_us", values: words("", "-1", ""),
		absent: func(s site) string {
			if s.inv.Kernel.AtLeast(6, 12) && len(s.inv.Config) > 0 && s.inv.Config["RT_GROUP_SCHED"] == "" {
				return "throttles nothing since 6.12 without CONFIG_RT_GROUP_SCHED; fair_server does"
			}
			return ""
		},
	},
	{
		Advice: Advice{
			Name:  "fair_server",
			What:  "The time, in ns of each second, that ordinary tasks get on a CPU that a real-time task occupies (50 ms): it stops a spinning FIFO thread as soon as a kernel thread is runnable there. 0 disables it.",
			Cost:  "Kernel threads bound to the CPU starve under a spinning FIFO thread: RCU stalls are reported, and a device's removal may hang.",
			Since: "6.12", Source: "kernel/sched/debug.c (fair_server); tuned realtime uses stalld",
		},
		path: "/sys/kernel/debug/sched/fair_server/cpu%d/runtime", values: words("", "0", ""),
	},
	{
		Advice: Advice{
			Name:   "kernel.numa_balancing",
			What:   "Unmaps memory periodically to see where it is used from, and moves pages and tasks between NUMA nodes: page faults and TLB flushes at any time. 0 is right for what is pinned, 1 for what is not.",
			Cost:   "0: tasks that are not pinned may stay far from their memory. 1: the faults.",
			Source: "Documentation/admin-guide/sysctl/kernel.rst; tuned network-latency (0)",
		},
		path: "/proc/sys/kernel/numa_balancing", values: words("0", "0", "1"),
		absent: func(s site) string {
			if len(s.inv.NUMANodes) < 2 {
				return "this machine has one NUMA node, so there is nothing to balance"
			}
			return needsConfig("NUMA_BALANCING")(s)
		},
	},
}

func all(s site, is func(host.CPU) bool) bool {
	taken := set(s.chosen)
	for _, cpu := range s.inv.CPUs {
		if taken[cpu.ID] && !is(cpu) {
			return false
		}
	}
	return true
}
