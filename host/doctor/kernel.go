package doctor

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/terminal"
)

var kernel = subject{"kernel", (*judge).kernel, []findingKind{
	{"watchdogs", "the kernel watches for lockups", "an NMI, a timer and a thread on each CPU"},
	{"machine-checks", "the kernel polls for corrected hardware errors", "a timer on each CPU"},
	{"mitigations", "mitigations lengthen entries into the kernel", "leave them on, and use kernel bypass"},
	{"debug-kernel", "the kernel checks itself", "two to ten times the work"},
	{"tracer", "a tracer is active in the kernel", "a line for each function or event"},
	{"parameters-without-effect", "boot parameters are for another CPU or kernel", "their settings are not in force"},
}}

// kernel looks at the kernel's watchdogs, mitigations and debugging.
func (j *judge) kernel() {
	j.watchdogs()
	j.machineChecks()
	j.mitigations()
	j.debugging()
	j.withoutEffect()
}

// watchdogs judges the lockup detectors on the chosen CPUs.
func (j *judge) watchdogs() {
	const root = "/proc/sys/kernel/"
	var evidence []Evidence
	var paths []string
	hard, _ := j.setting(root + "nmi_watchdog")
	soft, _ := j.setting(root + "soft_watchdog")
	if on, known := j.setting(root + "watchdog"); known && on == "0" {
		return
	}
	if mask, known := j.setting(root + "watchdog_cpumask"); known {
		cpus, err := cpulist.Parse(mask)
		if err == nil && len(j.own(func(c host.CPU) bool { return contains(cpus, c.ID) })) == 0 {
			return
		}
		evidence = append(evidence, Evidence{root + "watchdog_cpumask", mask})
	}
	thresh := 10
	if n, ok := j.number(root + "watchdog_thresh"); ok && n > 0 {
		thresh = n
	}
	var which, when []string
	if hard == "1" {
		which, when = append(which, "an NMI"), append(when, fmt.Sprintf("each %d s (NMI)", thresh))
		evidence, paths = append(evidence, Evidence{root + "nmi_watchdog", hard}), append(paths, root+"nmi_watchdog")
	}
	if soft == "1" {
		which, when = append(which, "a timer with an urgent thread"), append(when, fmt.Sprintf("each %.3g s (timer)", 2*float64(thresh)/5))
		evidence, paths = append(evidence, Evidence{root + "soft_watchdog", soft}), append(paths, root+"soft_watchdog")
	}
	if len(which) == 0 {
		return
	}
	paths = append(paths, root+"watchdog_cpumask", root+"watchdog")
	remedies := append(j.tuned(paths...), Remedy{Text: "watch the other CPUs only", Commands: []string{"sysctl -w kernel.watchdog_cpumask=" + list(j.scope.Housekeeping)}},
		Remedy{Text: "or switch them off; a kernel that hangs is then not noticed", Commands: []string{"sysctl -w kernel.watchdog=0"}})
	j.find(Finding{
		ID: "watchdogs", Severity: host.SeverityNote,
		Title:    "the kernel's watchdogs interrupt each CPU by " + strings.Join(which, " and by "),
		Evidence: evidence,
		Why:      "They check whether the CPU still handles interrupts and switches threads, by doing both.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: strings.Join(when, ", "), Basis: BasisPublished, Source: osnoise},
		Remedies: remedies,
		Source:   "Documentation/admin-guide/lockup-watchdogs.rst; " + tunedNetwork + "; " + thesis + ", listing 5.13 (nmi_watchdog=0, nosoftlockup)",
	})
}

// machineChecks judges the polling for corrected hardware errors.
func (j *judge) machineChecks() {
	const dir = "/sys/devices/system/machinecheck/machinecheck0/"
	interval, known := j.number(dir + "check_interval")
	ignored, _ := j.setting(dir + "ignore_ce")
	if !known || interval == 0 || ignored == "1" {
		return
	}
	j.find(Finding{
		ID: "machine-checks", Severity: host.SeverityNote,
		Title:    "each CPU looks for corrected errors of the hardware " + seconds(interval),
		Evidence: []Evidence{{dir + "check_interval", fmt.Sprint(interval)}, {dir + "ignore_ce", orUnread(ignored, "unknown")}},
		Why:      "A timer on each CPU reads the registers of all banks of errors; a corrected error also interrupts.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: seconds(interval) + "; less often where the hardware interrupts by itself", Basis: BasisEstimate, Source: osnoise},
		Remedies: append(j.tuned(dir+"check_interval", dir+"ignore_ce"),
			Remedy{Text: "stop polling; corrected memory errors then go unnoticed, which on a production machine hides a failing module", Commands: []string{"echo 0 > " + dir + "check_interval"}},
			j.boot("the same at boot", "mce=ignore_ce")),
		Source: "Documentation/arch/x86/x86_64/machinecheck.rst; " + thesis + ", listing 5.13 (mce=ignore_ce)",
	})
}

// entryMitigations lengthen each entry into the kernel. Each is a file in
// /sys/devices/system/cpu/vulnerabilities and a word in it.
var entryMitigations = []struct{ file, word string }{
	{"meltdown", "PTI"}, {"spectre_v2", "IBRS"}, {"spectre_v2", "Retpolines"}, {"mds", "Clear CPU buffers"},
	{"tsx_async_abort", "Clear CPU buffers"}, {"mmio_stale_data", "Clear CPU buffers"}, {"retbleed", "Mitigation"},
	{"spec_rstack_overflow", "Mitigation"}, {"srbds", "Microcode"}, {"gather_data_sampling", "Microcode"}, {"indirect_target_selection", "Mitigation"},
	{"tsa", "Clear CPU buffers"}, {"vmscape", "IBPB"},
}

// mitigations reports what CPU mitigations cost, and advises to leave them on.
func (j *judge) mitigations() {
	var evidence []Evidence
	for _, m := range j.inv.Mitigations {
		for _, known := range entryMitigations {
			if m.Name == known.file && strings.Contains(m.Status, known.word) && !strings.HasPrefix(m.Status, "Not affected") && !strings.HasPrefix(m.Status, "Vulnerable") {
				evidence = append(evidence, Evidence{"/sys/devices/system/cpu/vulnerabilities/" + m.Name, m.Status})
				break
			}
		}
	}
	if len(evidence) == 0 {
		return
	}
	j.find(Finding{
		ID: "mitigations", Severity: host.SeverityNote,
		Title:    terminal.Count(len(evidence), "protection") + " from flaws of the CPU " + choose(len(evidence) == 1, "lengthens", "lengthen") + " entries into the kernel",
		Evidence: evidence,
		Why:      "System calls and interrupts switch page tables, or clear the CPU's buffers and predictions.",
		Cost:     &Cost{FromUS: 0.05, ToUS: 1, When: "at each system call and interrupt, so not to programs that poll a card by DPDK", Basis: BasisEstimate, Source: "some hundred to some thousand cycles"},
		Remedies: []Remedy{{Text: "leave them on: without them, programs can read each other's memory. Use kernel bypass (memif, switch, sriov with DPDK), or more packets per call (io: batch)"}},
		Source:   "Documentation/admin-guide/hw-vuln/index.rst",
	})
}

// debugOptions slow down every lock or every allocation.
var debugOptions = []string{"PROVE_LOCKING", "LOCKDEP", "KASAN", "KCSAN", "KMEMLEAK", "DEBUG_OBJECTS", "DEBUG_ATOMIC_SLEEP", "DEBUG_PAGEALLOC", "SLUB_DEBUG_ON"}

// debugging finds kernels with self-checks, and tracers that are on.
func (j *judge) debugging() {
	var on []string
	for _, option := range debugOptions {
		if j.inv.Config[option] == "y" {
			on = append(on, "CONFIG_"+option)
		}
	}
	if len(on) > 0 {
		j.find(Finding{
			ID: "debug-kernel", Severity: host.SeverityWarning,
			Title:    "the kernel checks itself all the time (" + strings.Join(on, ", ") + ")",
			Evidence: []Evidence{{"the kernel's configuration", strings.Join(on, ", ")}},
			Why:      "Locks, allocations or accesses to memory are checked one by one, in the path of each packet.",
			Cost:     &Cost{FromUS: packetUS, ToUS: 10 * packetUS, When: "at each packet that goes through the kernel", Basis: BasisEstimate, Source: "two to ten times " + packetSource},
			Remedies: []Remedy{{Text: "boot a kernel of the distribution without them", Reboot: true}},
			Source:   "lib/Kconfig.debug; Documentation/dev-tools/kasan.rst",
		})
	}
	const path = "/sys/kernel/tracing/current_tracer"
	tracer, known := j.setting(path)
	if !known || tracer == "nop" {
		return
	}
	j.find(Finding{
		ID: "tracer", Severity: host.SeverityWarning,
		Title:    "the kernel is being traced (" + tracer + ")",
		Evidence: []Evidence{{path, tracer}},
		Why:      "A tracer writes a line for each function, interrupt or switch.",
		Cost:     &Cost{FromUS: 1, ToUS: 10 * packetUS, When: "at each packet that goes through the kernel", Basis: BasisEstimate, Source: "some hundred functions a packet at 50 to 100 ns each"},
		Remedies: []Remedy{{Text: "end it", Commands: []string{"echo nop > " + path}}},
		Source:   "Documentation/trace/ftrace.rst",
	})
}

// withoutEffect names boot parameters that have no effect on this machine.
func (j *judge) withoutEffect() {
	amd := slices.ContainsFunc(j.inv.CPUs, func(c host.CPU) bool { return strings.HasPrefix(c.Model, "AMD") })
	intel := slices.ContainsFunc(j.inv.CPUs, func(c host.CPU) bool {
		return strings.HasPrefix(c.Model, "Intel") || strings.Contains(c.Model, "Intel(R)")
	})
	var evidence []Evidence
	idle := func(parameter, why string, unheard bool) {
		if value, given := j.inv.Kernel.Parameter(parameter); given && unheard {
			evidence = append(evidence, Evidence{"/proc/cmdline, " + strings.TrimSuffix(parameter+"="+value, "="), why})
		}
	}
	lacks := func(option string) bool { return j.inv.Config != nil && j.inv.Config[option] != "y" }
	idle("intel_pstate", "the CPU is AMD's", amd)
	idle("intel_idle.max_cstate", "the CPU is AMD's; processor.max_cstate is for it", amd)
	idle("intel_iommu", "the CPU is AMD's", amd)
	idle("amd_iommu", "the CPU is Intel's", intel)
	idle("amd_pstate", "the CPU is Intel's", intel)
	idle("nohz_full", "CONFIG_NO_HZ_FULL is not set", lacks("NO_HZ_FULL"))
	idle("rcu_nocbs", "CONFIG_RCU_NOCB_CPU is not set", lacks("RCU_NOCB_CPU"))
	idle("isolcpus", "CONFIG_CPU_ISOLATION is not set", lacks("CPU_ISOLATION"))
	idle("preempt", "CONFIG_PREEMPT_DYNAMIC is not set", lacks("PREEMPT_DYNAMIC"))
	if len(evidence) == 0 {
		return
	}
	j.find(Finding{
		ID: "parameters-without-effect", Severity: host.SeverityNote,
		Title:    terminal.Count(len(evidence), "boot parameter") + " " + choose(len(evidence) == 1, "does", "do") + " nothing on this machine",
		Evidence: evidence,
		Why:      "They are for another CPU or kernel, so they have no effect.",
		Remedies: []Remedy{{Text: "remove them, and see which parameters this machine supports", Commands: []string{j.tunePlan()}, Reboot: true}},
		Source:   kernelParameters,
	})
}
