package host

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/files"
)

const cpuRoot = "/sys/devices/system/cpu"

// processor is one paragraph of /proc/cpuinfo.
type processor struct {
	id    int
	model string
	flags []string
}

// parseCPUInfo reads /proc/cpuinfo; Arm names flags "Features" and has no model.
func parseCPUInfo(content string) []processor {
	var list []processor
	for paragraph := range strings.SplitSeq(content, "\n\n") {
		id, err := strconv.Atoi(field(paragraph, "processor"))
		if err != nil {
			continue
		}
		flags := field(paragraph, "flags")
		if flags == "" {
			flags = field(paragraph, "Features")
		}
		list = append(list, processor{id, field(paragraph, "model name"), strings.Fields(flags)})
	}
	return list
}

// flagsOfInterest tell whether the TSC is usable as a clock, whether this is a virtual
// machine, how idle can wait, and what a data plane library is compiled for.
var flagsOfInterest = []string{
	"constant_tsc", "nonstop_tsc", "rdtscp", "tsc_known_freq", "tsc_adjust", "tsc_deadline_timer",
	"hypervisor", "arat", "monitor", "waitpkg", "vmx", "svm", "pdpe1gb", "cat_l3",
	"sse4_2", "avx2", "avx512f", "invpcid", "ht",
}

func interestingFlags(processors []processor) []string {
	if len(processors) == 0 {
		return nil
	}
	var have []string
	for _, flag := range flagsOfInterest {
		if slices.Contains(processors[0].flags, flag) {
			have = append(have, flag)
		}
	}
	sort.Strings(have)
	return have
}

// readCPUs reads every CPU that the kernel calls present, and their caches.
func readCPUs(t Tree, processors []processor) ([]CPU, []Cache) {
	models := map[int]string{}
	for _, p := range processors {
		models[p.id] = p.model
	}
	online := cpuList(t, cpuRoot+"/online")
	isolated := cpuList(t, cpuRoot+"/isolated")
	nohz := cpuList(t, cpuRoot+"/nohz_full")
	var cpus []CPU
	var caches []Cache
	seen := map[string]bool{}
	for _, id := range cpuList(t, cpuRoot+"/present") {
		dir := fmt.Sprintf("%s/cpu%d", cpuRoot, id)
		cpu := CPU{
			ID:       id,
			Online:   slices.Contains(online, id),
			Package:  files.IntOr(t, dir+"/topology/physical_package_id", -1),
			Core:     files.IntOr(t, dir+"/topology/core_id", -1),
			NUMANode: -1,
			Isolated: slices.Contains(isolated, id),
			NoHzFull: slices.Contains(nohz, id),
			Governor: files.Text(t, dir+"/cpufreq/scaling_governor"),
			MinMHz:   files.IntOr(t, dir+"/cpufreq/cpuinfo_min_freq", 0) / 1000,
			MaxMHz:   files.IntOr(t, dir+"/cpufreq/cpuinfo_max_freq", 0) / 1000,
			Model:    models[id],
		}
		if cpu.Online {
			cpu.EnergyPreference = files.Text(t, dir+"/cpufreq/energy_performance_preference")
			cpu.IdleState, cpu.IdleExitUS = deepestIdle(t, dir+"/cpuidle")
			cpu.Siblings = cpuList(t, dir+"/topology/thread_siblings_list")
			if len(cpu.Siblings) == 0 {
				cpu.Siblings = []int{id}
			}
			for _, c := range readCaches(t, dir+"/cache") {
				switch {
				case c.Level == 2 && c.Type != "Instruction":
					cpu.L2 = c.CPUs
				case c.Level == 3:
					cpu.L3 = c.CPUs
				}
				key := fmt.Sprint(c.Level, c.Type, c.CPUs)
				if !seen[key] {
					seen[key] = true
					caches = append(caches, c)
				}
			}
		}
		cpus = append(cpus, cpu)
	}
	sort.SliceStable(caches, func(i, j int) bool { return caches[i].Level < caches[j].Level })
	return cpus, caches
}

// readCaches reads the caches that one CPU sees.
func readCaches(t Tree, dir string) []Cache {
	var caches []Cache
	names, _ := t.ReadDir(dir) // absent in many virtual machines
	for _, name := range names {
		if !strings.HasPrefix(name, "index") {
			continue
		}
		index := dir + "/" + name
		caches = append(caches, Cache{
			Level:     files.IntOr(t, index+"/level", 0),
			Type:      files.Text(t, index+"/type"),
			SizeBytes: cacheSize(files.Text(t, index+"/size")),
			CPUs:      cpuList(t, index+"/shared_cpu_list"),
		})
	}
	return caches
}

// cacheSize reads "32K", as the kernel prints it (drivers/base/cacheinfo.c).
func cacheSize(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "K"), 10, 64)
	if err != nil {
		return 0
	}
	return n * 1024
}

// readCPUIdle reads the driver, and CPU 0's sleep states.
func readCPUIdle(t Tree) CPUIdle {
	idle := CPUIdle{
		Driver:   noneIsEmpty(files.Text(t, cpuRoot+"/cpuidle/current_driver")),
		Governor: noneIsEmpty(files.Text(t, cpuRoot+"/cpuidle/current_governor_ro")),
	}
	if idle.Governor == "" {
		idle.Governor = noneIsEmpty(files.Text(t, cpuRoot+"/cpuidle/current_governor"))
	}
	for i := 0; ; i++ {
		dir := fmt.Sprintf("%s/cpu0/cpuidle/state%d", cpuRoot, i)
		name := files.Text(t, dir+"/name")
		if name == "" {
			return idle
		}
		idle.States = append(idle.States, IdleState{
			Name:      name,
			LatencyUS: files.IntOr(t, dir+"/latency", 0),
			Disabled:  files.Text(t, dir+"/disable") == "1",
		})
	}
}

// deepestIdle finds the enabled sleep state with the longest exit latency. Each CPU enables
// and disables its own states, and CPUs of different kinds have different states.
func deepestIdle(t Tree, dir string) (name string, exitUS int) {
	for i := 0; ; i++ {
		state := fmt.Sprintf("%s/state%d", dir, i)
		here := files.Text(t, state+"/name")
		if here == "" {
			return name, exitUS
		}
		if latency := files.IntOr(t, state+"/latency", 0); files.Text(t, state+"/disable") != "1" && latency >= exitUS {
			name, exitUS = here, latency
		}
	}
}

func noneIsEmpty(s string) string {
	if s == "none" {
		return ""
	}
	return s
}

func readMitigations(t Tree) []Mitigation {
	var list []Mitigation
	names, _ := t.ReadDir(cpuRoot + "/vulnerabilities") // before 4.15 there are none
	for _, name := range names {
		status := files.Text(t, cpuRoot+"/vulnerabilities/"+name)
		list = append(list, Mitigation{name, status})
	}
	return list
}
