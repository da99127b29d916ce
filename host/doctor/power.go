package doctor

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
)

var power = subject{"power", (*judge).power, []findingKind{
	{"idle-states", "idle CPUs sleep deeply", "waking takes as long as the host's table says, up to a millisecond"},
	{"governor", "CPUs change their frequency", "work takes longer, by the ratio of the frequencies"},
	{"heat", "CPUs were hot", "hot CPUs slow down by themselves"},
}}

// power looks at what saves energy: sleep states, frequencies, thermal throttling.
func (j *judge) power() {
	j.sleepStates()
	j.frequency()
	j.heat()
}

// sleepStates judges the deepest sleep state of the chosen CPUs.
func (j *judge) sleepStates() {
	if idle, _ := j.inv.Kernel.Parameter("idle"); idle == "poll" {
		return
	}
	deepest := host.CPU{}
	for _, cpu := range j.chosen() {
		if cpu.IdleExitUS > deepest.IdleExitUS {
			deepest = cpu
		}
	}
	exit := deepest.IdleExitUS
	const fast = 2 // µs, of C1 in the tables of intel_idle
	if exit <= fast {
		return
	}
	evidence := []Evidence{{fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle", deepest.ID), fmt.Sprintf("the deepest state that is allowed is %s, which takes %d µs to wake from", deepest.IdleState, exit)}}
	if held := j.inv.WakeLatencyUS; held != nil {
		if *held <= fast {
			return
		}
		evidence = append(evidence, Evidence{"/dev/cpu_dma_latency", fmt.Sprintf("a program allows %d µs", *held)})
		exit = min(exit, *held)
	}
	severity := host.SeverityWarning
	when := "at a packet that finds its CPU asleep, so mostly at low rates"
	if !j.scope.Sleeps {
		severity, when = host.SeverityNote, "never while engines spin; at programs that wait"
	} else if exit < 10 {
		severity = host.SeverityNote
	}
	var deep []string
	for i, state := range j.inv.CPUIdle.States {
		if state.LatencyUS > fast {
			deep = append(deep, fmt.Sprint(i))
		}
	}
	off := fmt.Sprintf("for c in %s; do for s in %s; do echo 1 > /sys/devices/system/cpu/cpu$c/cpuidle/state$s/disable; done; done", words(j.scope.CPUs), strings.Join(deep, " "))
	remedies := j.tuned("/dev/cpu_dma_latency")
	if len(deep) > 0 {
		remedies = append(remedies, Remedy{Text: "switch the deep states off on these CPUs; they use more power and may reach lower turbo clocks", Commands: []string{off}})
	}
	if strings.HasPrefix(j.inv.CPUIdle.Driver, "intel") {
		remedies = append(remedies, j.boot("never enter them", "intel_idle.max_cstate=1", "processor.max_cstate=1"))
	} else {
		remedies = append(remedies, j.boot("never enter them", "processor.max_cstate=1"))
	}
	j.find(Finding{
		ID: "idle-states", Severity: severity,
		Title:    fmt.Sprintf("CPUs sleep so deeply that waking takes %d µs", exit),
		Evidence: evidence,
		Why:      "An idle CPU goes to sleep, and the next packet waits until it is awake.",
		Cost:     &Cost{FromUS: 1, ToUS: float64(exit), When: when, Basis: BasisHost, Source: "the exit latencies of the host's own table (Documentation/admin-guide/pm/cpuidle.rst)"},
		Remedies: remedies, CPUs: j.those(func(c host.CPU) bool { return c.IdleExitUS > fast }),
		Source: "tuned's profile latency-performance (force_latency); " + thesis + ", listing 5.13",
	})
}

// frequency judges the governors of the chosen CPUs.
func (j *judge) frequency() {
	governors := map[string]bool{}
	slow := j.those(func(c host.CPU) bool {
		bad := c.Governor != "" && c.Governor != "performance"
		if bad {
			governors[c.Governor] = true
		}
		return bad
	})
	if len(slow) == 0 {
		return
	}
	var names []string
	for name := range governors {
		names = append(names, name)
	}
	slices.Sort(names)
	cpu, err := j.inv.CPU(slow[0])
	if err != nil {
		return
	}
	dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/", slow[0])
	evidence := []Evidence{{dir + "scaling_governor", strings.Join(names, ", ")}}
	if cpu.EnergyPreference != "" {
		evidence = append(evidence, Evidence{dir + "energy_performance_preference", cpu.EnergyPreference})
	}
	if driver, ok := j.setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"); ok {
		evidence = append(evidence, Evidence{"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", driver})
	}
	cost := &Cost{FromUS: 1, ToUS: packetUS, When: "until the CPU has sped up after a pause", Basis: BasisEstimate, Source: "at least as much again as " + packetSource}
	if cpu.MinMHz > 0 && cpu.MaxMHz > cpu.MinMHz {
		ratio := float64(cpu.MaxMHz) / float64(cpu.MinMHz)
		evidence = append(evidence, Evidence{dir + "cpuinfo_{min,max}_freq", fmt.Sprintf("%d and %d MHz, so work takes up to %.1f times as long", cpu.MinMHz, cpu.MaxMHz, ratio)})
		cost.ToUS, cost.Basis = (ratio-1)*packetUS, BasisComputed
		cost.Source = fmt.Sprintf("the host's frequencies, and %s", packetSource)
	}
	var paths []string
	for _, id := range slow {
		paths = append(paths, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", id))
	}
	j.find(Finding{
		ID: "governor", Severity: host.SeverityWarning,
		Title:    "CPUs change their frequency (" + strings.Join(names, ", ") + ")",
		Evidence: evidence,
		Why:      "At a low frequency the same packet takes longer, and the CPU's earlier load decides its frequency.",
		Cost:     cost, CPUs: slow,
		Remedies: append(j.tuned(paths...), Remedy{Text: "keep them at the highest frequency",
			Commands: []string{fmt.Sprintf("for c in %s; do echo performance > /sys/devices/system/cpu/cpu$c/cpufreq/scaling_governor; done", words(slow))}}),
		Source: "Documentation/admin-guide/pm/cpufreq.rst; tuned's profile latency-performance",
	})
}

// heat looks for CPUs that were throttled because they were hot.
func (j *judge) heat() {
	for _, local := range j.inv.LocalInterrupts {
		n := local.Total(j.scope.CPUs)
		if local.ID != "TRM" || n == 0 {
			continue
		}
		cooler := Remedy{Text: "improve cooling, use mains power, or cap the frequency at a sustainable one"}
		if driver, _ := j.setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"); driver == "intel_pstate" { // only intel_pstate reports the base frequency
			cooler.Commands = []string{fmt.Sprintf("for c in %s; do cat /sys/devices/system/cpu/cpu$c/cpufreq/base_frequency > /sys/devices/system/cpu/cpu$c/cpufreq/scaling_max_freq; done", words(j.scope.CPUs))}
		}
		j.find(Finding{
			ID: "heat", Severity: host.SeverityWarning,
			Title:    "CPUs were slowed down because they got hot",
			Evidence: []Evidence{{"/proc/interrupts, TRM", fmt.Sprintf("%d thermal events on %s since boot", n, namedCPUs(j.scope.CPUs))}},
			Why:      "A hot CPU lowers its frequency regardless of the governor, and raises it later; runs differ by room temperature.",
			Cost:     &Cost{FromUS: 1, ToUS: packetUS * 3, When: "while a CPU is hot", Basis: BasisEstimate, Source: "a quarter of the frequency and " + packetSource},
			Remedies: []Remedy{cooler},
			Source:   "arch/x86/kernel/irq.c (TRM); Documentation/admin-guide/pm/cpufreq.rst",
		})
	}
}
