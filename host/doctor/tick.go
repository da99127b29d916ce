package doctor

import (
	"cmp"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
)

var tick = subject{"tick", (*judge).tick, []findingKind{
	{"timer-tick", "the timer tick interrupts", "1.8 to 8.8 µs, 100 to 1000 times a second"},
	{"rcu-callbacks", "RCU callbacks run on the CPU", "a softirq frees memory that was given up"},
	{"vmstat", "the kernel gathers memory statistics each second", "a kernel thread takes the CPU"},
}}

// tick looks at the kernel's periodic work on each CPU: the timer tick, RCU, memory
// statistics.
func (j *judge) tick() {
	j.timerTick()
	j.callbacks()
	j.statistics()
}

// timerTick judges CPUs that tick although only one thread runs on them.
func (j *judge) timerTick() {
	ticking := j.own(func(c host.CPU) bool { return !c.NoHzFull })
	if len(ticking) == 0 {
		return
	}
	hz := cmp.Or(j.inv.Config["HZ"], "250")
	f := Finding{
		ID: "timer-tick", Severity: host.SeverityNote,
		Title:    namedCPUs(ticking) + choose(len(ticking) == 1, " is", " are") + " interrupted by the timer tick " + hz + " times a second",
		Evidence: []Evidence{{"/sys/devices/system/cpu/nohz_full", "does not have " + choose(len(ticking) == 1, "it", "them")}},
		Why:      "The tick stops whatever runs, also a program that polls and is alone on its CPU.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: hz + " times a second", Basis: BasisPublished, Source: osnoise},
		CPUs:     ticking,
		Source:   "Documentation/timers/no_hz.rst; " + thesis + ", listing 5.13; " + tunedPartition,
	}
	if j.inv.Config["HZ"] != "" {
		f.Evidence = append(f.Evidence, Evidence{"the kernel's configuration", "CONFIG_HZ=" + hz})
	}
	boot := j.boot("stop the tick on these CPUs while one thread runs there", "nohz_full="+j.target(), "rcu_nocbs="+j.target())
	f.Remedies = []Remedy{boot}
	if j.inv.Config != nil && j.inv.Config["NO_HZ_FULL"] != "y" {
		f.Evidence = append(f.Evidence, Evidence{"the kernel's configuration", "CONFIG_NO_HZ_FULL is not set"})
		f.Remedies = []Remedy{j.kernelPackage("boot a kernel with CONFIG_NO_HZ_FULL, such as Debian's, and with nohz_full="+j.target(), "linux-image-"+debianArch(j.inv))}
	}
	j.find(f)
}

// callbacks judges CPUs on which RCU's callbacks run.
func (j *judge) callbacks() {
	offloaded, _ := j.inv.Kernel.Parameter("rcu_nocbs")
	named, err := cpulist.Parse(offloaded)
	here := j.own(func(c host.CPU) bool {
		// nohz_full CPUs are offloaded too (kernel/rcu/tree_nocb.h, rcu_init_nohz).
		return !c.NoHzFull && (err != nil || !contains(named, c.ID))
	})
	if offloaded == "all" || len(here) == 0 || j.inv.Config != nil && j.inv.Config["RCU_NOCB_CPU"] != "y" {
		return
	}
	j.find(Finding{
		ID: "rcu-callbacks", Severity: host.SeverityNote,
		Title:    "RCU's callbacks run on " + namedCPUs(here),
		Evidence: []Evidence{{"/proc/cmdline", choose(offloaded == "", "rcu_nocbs= is not set", "rcu_nocbs="+offloaded)}},
		Why:      "The kernel frees deferred memory in a softirq of the CPU that queued it, which runs before the program continues.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: "after system calls of the CPU itself that free something", Basis: BasisEstimate, Source: "one softirq of some callbacks, as " + osnoise},
		Remedies: []Remedy{j.boot("move them to threads on the other CPUs", "rcu_nocbs="+j.target())},
		CPUs:     here,
		Source:   perCPUThreads + " (RCU); " + thesis + ", listing 5.13",
	})
}

// statistics judges the update of memory statistics, which every CPU does each
// stat_interval.
func (j *judge) statistics() {
	const path = "/proc/sys/vm/stat_interval"
	interval, ok := j.number(path)
	disturbed := j.those(func(c host.CPU) bool {
		// Since 6.5 isolated and nohz_full CPUs are left out (mm/vmstat.c, commit
		// be5e015d107d).
		return !(j.inv.Kernel.AtLeast(6, 5) && (c.Isolated || c.NoHzFull))
	})
	if !ok || interval >= 10 || len(disturbed) == 0 {
		return
	}
	j.find(Finding{
		ID: "vmstat", Severity: host.SeverityNote,
		Title:    "the kernel gathers memory statistics on each CPU " + seconds(interval),
		Evidence: []Evidence{{path, fmt.Sprint(interval)}},
		Why:      "A kernel thread bound to the CPU does it, and takes the CPU from the program there.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: seconds(interval), Basis: BasisPublished, Source: osnoise},
		Remedies: j.write("do it each 10 seconds; the counters of /proc/vmstat get older", path, "10"),
		CPUs:     disturbed,
		Source:   perCPUThreads + "; " + tunedNetwork + " (vm.stat_interval=10)",
	})
}
