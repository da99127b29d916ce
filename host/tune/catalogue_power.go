package tune

import (
	"strconv"
	"strings"
)

// wordShallow is the exit latency of the shallowest sleep state, so that a CPU halts but
// never sleeps deeper.
const wordShallow = "shallow"

var powerKinds = []kind{
	{
		Advice: Advice{
			Name:   "cpu_dma_latency",
			What:   "The longest wake-up from idle, in µs, that any CPU may take: waking from deep sleep takes 100 µs and more, also on the CPU of an interrupt. It is in force as long as a process keeps the file open, so nines starts a small process for that.",
			Cost:   "Power and heat on all CPUs; less turbo for busy CPUs, as idle ones no longer save power.",
			Source: "Documentation/power/pm_qos_interface.rst; tuned latency-performance (force_latency)",
		},
		path: "/dev/cpu_dma_latency", method: Hold, values: words(wordShallow, wordShallow, ""),
		value: shallow, absent: needsIdleDriver,
	},
	{
		Advice: Advice{
			Name:   "pm_qos_resume_latency_us",
			What:   "The same for one CPU. n/a allows no wake-up time at all: the CPU polls when it is idle.",
			Cost:   "The chosen CPUs draw full power when idle, and their sibling threads get half of the core.",
			Source: "Documentation/ABI/testing/sysfs-devices-power; drivers/cpuidle/governor.c, cpuidle_governor_latency_req()",
		},
		path: "/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us", values: words("", "n/a", ""),
		absent: needsIdleDriver,
	},
	{
		Advice: Advice{
			Name:   "scaling_governor",
			What:   "What selects a CPU's frequency: performance keeps it at the highest, so that the first packet after a pause is not handled at the lowest.",
			Cost:   "Power and heat.",
			Source: "Documentation/admin-guide/pm/cpufreq.rst; tuned latency-performance and throughput-performance",
		},
		path: "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", every: true,
		values: words("performance", "performance", "performance"), absent: needsCPUFreq,
	},
	{
		Advice: Advice{
			Name:   "energy_performance_preference",
			What:   "What the processor prefers if it selects the frequency itself (intel_pstate and amd_pstate in active mode): performance.",
			Cost:   "Power and heat.",
			Source: "Documentation/admin-guide/pm/intel_pstate.rst; tuned latency-performance",
		},
		path: "/sys/devices/system/cpu/cpu%d/cpufreq/energy_performance_preference", every: true,
		values: words("performance", "performance", "performance"),
		absent: func(s site) string {
			if reason := needsCPUFreq(s); reason != "" {
				return reason
			}
			for _, cpu := range s.inv.CPUs {
				if cpu.EnergyPreference != "" {
					return ""
				}
			}
			return "these CPUs' frequency driver has no preference setting"
		},
	},
	{
		Advice: Advice{
			Name:   "energy_perf_bias",
			What:   "An Intel processor's preference between speed (0) and power saving (15).",
			Cost:   "Power and heat.",
			Source: "Documentation/admin-guide/pm/intel_epb.rst; tuned latency-performance (EPB performance)",
		},
		path: "/sys/devices/system/cpu/cpu%d/power/energy_perf_bias", every: true,
		values: words("0", "0", "0"),
		absent: func(s site) string {
			switch {
			case len(s.inv.CPUs) > 0 && s.inv.CPUs[0].Model != "" && !strings.Contains(s.inv.CPUs[0].Model, "Intel"):
				return "only Intel's processors have it"
			case s.inv.Virtualisation.Hypervisor != "":
				return "a virtual machine cannot set its processor's preference"
			}
			return ""
		},
	},
	{
		Advice: Advice{
			Name:   "intel_pstate.min_perf_pct",
			What:   "The lowest frequency that the intel_pstate driver may select, in percent of the highest.",
			Cost:   "Power and heat.",
			Source: "Documentation/admin-guide/pm/intel_pstate.rst; tuned latency-performance (min_perf_pct=100)",
		},
		path: "/sys/devices/system/cpu/intel_pstate/min_perf_pct", values: words("100", "100", "100"),
		absent: func(s site) string {
			if reason := needsCPUFreq(s); reason != "" {
				return reason
			}
			if len(s.inv.CPUs) > 0 && !strings.Contains(s.inv.CPUs[0].Model, "Intel") {
				return "only Intel's processors have it"
			}
			return ""
		},
	},
	{
		Advice: Advice{
			Name:   "smt_siblings",
			What:   "offline disables the other threads of the chosen CPUs' cores, which share caches and execution units with them. Leaving them idle does nearly the same; no built-in profile takes them offline; your own file can.",
			Cost:   "The CPUs are gone for all programs; their interrupts move, and version 1 cpusets that had them do not get them back.",
			Source: "Documentation/core-api/cpu_hotplug.rst; thesis listing 5.13 (nosmt)",
		},
		path: siblingPath,
		value: func(_ site, word string) string {
			if word == "offline" {
				return "0"
			}
			return word
		},
		absent: func(s site) string {
			if len(Siblings(s.inv, s.chosen)) == 0 {
				return "no core of the chosen CPUs has another thread"
			}
			return ""
		},
	},
}

// siblingPath is set on the chosen CPUs' siblings, not on the chosen CPUs.
const siblingPath = "/sys/devices/system/cpu/cpu%d/online"

func needsIdleDriver(s site) string {
	if s.inv.CPUIdle.Driver == "" {
		if value, given := s.inv.Kernel.Parameter("idle"); given {
			return "idle CPUs do not sleep: the kernel was started with idle=" + value
		}
		return "the kernel has no cpuidle driver here, so no idle state can be limited"
	}
	return ""
}

func needsCPUFreq(s site) string {
	for _, cpu := range s.inv.CPUs {
		if cpu.Governor != "" {
			return ""
		}
	}
	if s.inv.Virtualisation.Hypervisor != "" {
		return "the hypervisor sets the CPUs' clock"
	}
	return "the kernel has no cpufreq driver here: the firmware sets the CPUs' clock"
}

// shallow is the exit latency of the first state that sleeps at all, after POLL with 0 (C1
// with 2 µs on Intel, 1 on AMD).
func shallow(s site, word string) string {
	if word != wordShallow {
		return word
	}
	for _, state := range s.inv.CPUIdle.States {
		if state.LatencyUS > 0 {
			return strconv.Itoa(state.LatencyUS)
		}
	}
	return "1"
}
