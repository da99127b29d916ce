package doctor

import (
	"slices"
	"strings"

	"nines.dev/nines/host"
)

var clock = subject{"clock", (*judge).clock, []findingKind{
	{"tsc", "the TSC is not constant", "nines stamps packets with it"},
	{"clocksource", "the kernel's clock is not the TSC", "each reading is slow, or from another clock"},
}}

const clocksourceFile = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// clock checks that the TSC is usable as a clock: the engine stamps packets with it.
func (j *judge) clock() {
	clock := j.inv.Clock
	if !clock.ConstantTSC || !clock.NonstopTSC {
		lacking := "constant_tsc"
		if clock.ConstantTSC {
			lacking = "nonstop_tsc"
		}
		j.find(Finding{
			ID: "tsc", Severity: host.SeverityWarning,
			Title:    "the CPU does not guarantee a constant TSC (" + lacking + "), so latencies cannot be trusted",
			Evidence: []Evidence{{"/proc/cpuinfo, flags", lacking + " is absent"}},
			Why:      "The engine stamps packets with the TSC. One that follows the frequency, or stops in sleep, makes times longer or shorter than they were.",
			Remedies: []Remedy{{Text: "measure on a CPU with both flags; in a virtual machine ask for the host's CPU with an invariant TSC (QEMU: -cpu host,+invtsc)"}},
			Source:   "Intel SDM, volume 3, 18.17.1 (invariant TSC); arch/x86/include/asm/cpufeatures.h",
		})
	}
	// What one read of each clock source takes, in µs. Clocks of hypervisors are pages
	// of memory and as fast as the TSC.
	slow, known := map[string][2]float64{
		"hpet": {0.5, 1.5}, "acpi_pm": {1, 3}, "jiffies": {0, 4000}, "refined-jiffies": {0, 4000}, "xen": {0.1, 1},
	}[clock.Source]
	if clock.Source == "" || clock.Source == "tsc" {
		return
	}
	f := Finding{
		ID: "clocksource", Severity: host.SeverityNote,
		Title:    "the kernel's clock is " + clock.Source + ", not the TSC",
		Evidence: []Evidence{{clocksourceFile, clock.Source}, {"…/available_clocksource", strings.Join(clock.Available, " ")}},
		Why:      "All timers, and all programs that ask for the time, read this clock. The TSC is a register; this one is shared with the hypervisor, which may move it when the machine migrates.",
		Cost:     &Cost{FromUS: 0, ToUS: 0.1, When: "at each reading of the time", Basis: BasisEstimate, Source: "a page shared with the hypervisor, arch/x86/kernel/pvclock.c"},
		Source:   "Red Hat, Optimizing RHEL for Real Time: comparing the cost of reading hardware clock sources",
	}
	if known {
		f.Severity = host.SeverityWarning
		f.Why = "All timers, and all programs that ask for the time, read this clock. The TSC is a register; this one is a device on a bus or a system call, and all CPUs queue for it."
		f.Cost = &Cost{FromUS: slow[0], ToUS: slow[1], When: "at each reading of the time, so several times a packet", Basis: BasisEstimate, Source: "an access to a device takes about a microsecond, a tick 1/HZ"}
	}
	if slices.Contains(clock.Available, "tsc") {
		f.Remedies = []Remedy{{Text: "take the TSC", Commands: []string{"echo tsc > " + clocksourceFile}}, j.boot("take it at boot", "clocksource=tsc", "tsc=reliable")}
	} else {
		f.Remedies = []Remedy{{Text: "find out why the kernel considers the TSC unstable; a firmware update often helps", Commands: []string{"dmesg | grep -i -e tsc -e clocksource"}},
			j.boot("if it is only the kernel's watchdog that is wrong", "tsc=reliable")}
	}
	j.find(f)
}
