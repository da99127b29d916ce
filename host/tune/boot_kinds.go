package tune

import (
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
)

const wordCPUs = "cpus"

// listed converts the words for lists of CPUs to lists.
func listed(s bootSite, word string) string {
	switch word {
	case wordCPUs:
		return cpulist.Format(s.chosen)
	case wordHousekeeping:
		return cpulist.Format(s.housekeeping())
	}
	return word
}

func bootNeeds(option string) func(bootSite) string {
	return func(s bootSite) string { return needsConfig(option)(s.site) }
}

func intel(inv *host.Inventory) bool {
	return len(inv.CPUs) > 0 && strings.Contains(inv.CPUs[0].Model, "Intel")
}

func amd(inv *host.Inventory) bool {
	return len(inv.CPUs) > 0 && strings.Contains(inv.CPUs[0].Model, "AMD")
}

func x86(s bootSite) string {
	if m := s.inv.Kernel.Machine; m != "" && m != "x86_64" {
		return "only x86 has it"
	}
	return ""
}

// bootKinds is in the order of printing.
func bootKinds() []bootKind { return slices.Concat(bootCPUKinds, bootHostKinds, bootAskedKinds) }

var bootCPUKinds = []bootKind{
	{
		Advice: Advice{
			Name:   "nohz_full",
			What:   "Ends the scheduler's tick, 250 or 1000 interrupts a second, on the chosen CPUs while each has one task to run.",
			Cost:   "Every system call and interrupt there costs some 100 ns more for accounting; at least one CPU must keep its tick.",
			Source: "Documentation/timers/no_hz.rst; thesis listing 5.13; tuned cpu-partitioning",
		},
		values: words(wordCPUs, wordCPUs, ""), value: listed, absent: bootNeeds("NO_HZ_FULL"),
		conflicts: func(s bootSite, _ string) []string {
			if slices.Contains(s.chosen, 0) {
				return []string{"CPU 0 is among the chosen: the kernel keeps time on a CPU with a tick, and most kernels require the boot CPU for it"}
			}
			return nil
		},
	},
	{
		Advice: Advice{
			Name:   "rcu_nocbs",
			What:   "Moves the RCU callbacks of the chosen CPUs (memory that is freed later, in softirqs) to kernel threads that can run elsewhere.",
			Cost:   "Freeing takes longer, and the housekeeping CPUs do it.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; Documentation/RCU; thesis listing 5.13",
		},
		values: words(wordCPUs, wordCPUs, ""), value: listed, absent: bootNeeds("RCU_NOCB_CPU"),
	},
	{
		Advice: Advice{
			Name:   "rcu_nocb_poll",
			What:   "These threads poll for callbacks, so that the chosen CPUs need not wake them.",
			Cost:   "They wake up periodically on the housekeeping CPUs, even without work.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13",
		},
		values: words("", wordSet, ""), absent: bootNeeds("RCU_NOCB_CPU"),
	},
	{
		Advice: Advice{
			Name:   "irqaffinity",
			What:   "Interrupts go to the housekeeping CPUs unless something sets their affinity later.",
			Cost:   "The housekeeping CPUs handle all of them.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13",
		},
		values: words(wordHousekeeping, wordHousekeeping, ""), value: listed,
		conflicts: func(s bootSite, _ string) []string {
			if len(set(s.housekeeping())) == len(s.inv.CPUs) {
				return []string{"all CPUs are chosen, so no CPU is left for interrupts"}
			}
			return nil
		},
	},
	{
		Advice: Advice{
			Name:  "isolcpus",
			What:  "managed_irq keeps the interrupts of devices with a queue for each CPU (NVMe, some cards) off the chosen CPUs, which no setting can do later. domain would also take the CPUs out of load balancing: nines uses cpusets for that, which can be undone.",
			Cost:  "Fewer queues for those devices.",
			Since: "5.6", Source: "Documentation/admin-guide/kernel-parameters.txt; tuned realtime (managed_irq,domain)",
		},
		values: words("managed_irq", "managed_irq", ""), absent: bootNeeds("CPU_ISOLATION"),
		value: func(s bootSite, word string) string {
			if word == "managed_irq" || word == "domain" || word == "managed_irq,domain" {
				return word + "," + cpulist.Format(s.chosen)
			}
			return listed(s, word)
		},
		conflicts: func(_ bootSite, word string) []string {
			if word == "managed_irq" {
				return nil
			}
			return []string{"cpusets: a container with several CPUs of isolcpus=domain has no load balancing on them, so all its threads stay on one unless they pin themselves; thesis 6.2.4 found no gain beside cpusets. partition: isolated does the same and can be undone (cgroup v2 since 6.1)"}
		},
	},
	{
		Advice: Advice{
			Name:   "nosmt",
			What:   "Disables the second thread of every core, so that one thread has the core's execution units and caches.",
			Cost:   "Half the CPUs of the whole machine.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13",
		},
		values: words("", wordSet, ""),
		absent: func(s bootSite) string {
			_, given := s.inv.Kernel.Parameter("nosmt")
			switch {
			case given:
				return ""
			case s.inv.SMT == "notsupported" || s.inv.SMT == "notimplemented" || len(s.siblingCPUs()) == 0:
				return "no core of this machine has a second thread"
			case len(s.chosenSecond()) > 0:
				return "CPUs " + cpulist.Format(s.chosenSecond()) + " of the chosen are second threads, and would be gone; choose first threads, or leave their siblings idle"
			}
			return ""
		},
	},
}

// siblingCPUs are all CPUs that share a core with a CPU of a lower number.
func (s bootSite) siblingCPUs() []int {
	var list []int
	for _, cpu := range s.inv.CPUs {
		if len(cpu.Siblings) > 1 && cpu.ID != slices.Min(cpu.Siblings) {
			list = append(list, cpu.ID)
		}
	}
	return list
}

func (s bootSite) chosenSecond() []int {
	second := set(s.siblingCPUs())
	return slices.DeleteFunc(slices.Clone(s.chosen), func(c int) bool { return !second[c] })
}

var bootHostKinds = []bootKind{
	{
		Advice: Advice{
			Name:   "skew_tick",
			What:   "Staggers the ticks of the CPUs, so that they do not need the same locks at the same time.",
			Cost:   "More wake-ups, so a little power.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13; tuned network-latency",
		},
		values: words("1", "1", ""),
	},
	{
		Advice: Advice{
			Name:   "tsc",
			What:   "reliable: the TSC is the clock, and no timer every half second compares it with another one on each CPU in turn.",
			Cost:   "A faulty TSC is not detected. nines proposes it only if the processor reports a constant, nonstop TSC.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13; tuned network-latency",
		},
		values: words("reliable", "reliable", ""),
		absent: func(s bootSite) string {
			if reason := x86(s); reason != "" {
				return reason
			}
			if !s.inv.Clock.ConstantTSC || !s.inv.Clock.NonstopTSC {
				return "this processor does not report a constant, nonstop TSC"
			}
			return ""
		},
	},
	{
		Advice: Advice{
			Name:  "preempt",
			What:  "full: the kernel itself can be interrupted by a task that is woken, instead of at a few places only.",
			Cost:  "Some percent of throughput.",
			Since: "5.12", Source: "Documentation/admin-guide/kernel-parameters.txt (PREEMPT_DYNAMIC)",
		},
		values: words("full", "full", ""),
		absent: func(s bootSite) string {
			switch {
			case s.inv.Kernel.RealTime:
				return "this kernel is PREEMPT_RT, which is more"
			case !strings.Contains(s.inv.Kernel.Version, "PREEMPT_DYNAMIC") && s.inv.Config["PREEMPT_DYNAMIC"] == "":
				return "this kernel was built without CONFIG_PREEMPT_DYNAMIC"
			}
			return ""
		},
	},
	{
		Advice: Advice{
			Name:   "rcupdate.rcu_normal_after_boot",
			What:   "As rcu_normal, from the end of booting on.",
			Cost:   "Waiting for RCU is slower.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; tuned network-latency",
		},
		values: words("", "1", ""),
	},
	{
		Advice: Advice{
			Name:   "audit",
			What:   "0 turns off the audit of system calls, which slows each system call if a daemon has enabled it.",
			Cost:   "No audit log.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13",
		},
		values: words("0", "0", ""),
	},
	{
		Advice: Advice{
			Name:   "nmi_watchdog",
			What:   "As kernel.nmi_watchdog, from the start.",
			Cost:   "A CPU that hangs with interrupts off is not reported.",
			Source: "Documentation/admin-guide/lockup-watchdogs.rst; thesis listing 5.13",
		},
		values: words("0", "0", ""), absent: bootNeeds("HARDLOCKUP_DETECTOR"),
	},
	{
		Advice: Advice{
			Name:   "nosoftlockup",
			What:   "As kernel.soft_watchdog 0, from the start.",
			Cost:   "A task that keeps a CPU from all others is not reported.",
			Source: "Documentation/admin-guide/lockup-watchdogs.rst; thesis listing 5.13",
		},
		values: words("", wordSet, ""),
	},
	{
		Advice: Advice{
			Name:   "mce",
			What:   "ignore_ce: as machinecheck.ignore_ce, from the start.",
			Cost:   "Corrected memory errors are not logged.",
			Source: "Documentation/arch/x86/x86_64/boot-options.rst; thesis listing 5.13",
		},
		values: words("ignore_ce", "ignore_ce", ""),
		absent: func(s bootSite) string {
			if reason := x86(s); reason != "" {
				return reason
			}
			return needsConfig("X86_MCE")(s.site)
		},
	},
}
