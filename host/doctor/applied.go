package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
)

// Applied returns the inventory that Read would give with the settings in force. Settings
// that no inventory holds change nothing.
func Applied(inv *host.Inventory, settings []tune.Setting) *host.Inventory {
	after := clone(inv)
	for _, s := range settings {
		if s.Absent == "" {
			apply(after, s.Path, s.Value)
		}
	}
	return after
}

// clone copies what apply changes; the rest is shared.
func clone(inv *host.Inventory) *host.Inventory {
	after := *inv
	after.Settings = maps.Clone(inv.Settings)
	after.CPUs = slices.Clone(inv.CPUs)
	after.Interrupts = slices.Clone(inv.Interrupts)
	return &after
}

// apply changes the inventory entry that Read would read from path.
func apply(inv *host.Inventory, path, value string) {
	const cpuRoot, irqRoot = "/sys/devices/system/cpu/cpu", "/proc/irq/"
	switch {
	case path == "/dev/cpu_dma_latency":
		if us, err := strconv.Atoi(value); err == nil {
			inv.WakeLatencyUS = &us
		}
	case path == clocksourceFile:
		inv.Clock.Source = value
	case path == "/sys/kernel/mm/transparent_hugepage/enabled":
		inv.TransparentHugepages = value
	case path == "/sys/devices/system/cpu/smt/control":
		inv.SMT = value
		for i, cpu := range inv.CPUs {
			if value == "off" && len(cpu.Siblings) > 0 && cpu.Siblings[0] != cpu.ID {
				takeOffline(inv, i)
			}
		}
	case strings.HasPrefix(path, irqRoot):
		id := strings.Split(path, "/")[3]
		for i := range inv.Interrupts {
			if inv.Interrupts[i].ID == id && strings.HasSuffix(path, "/smp_affinity_list") {
				inv.Interrupts[i].Affinity, inv.Interrupts[i].Effective = value, value
			}
		}
	case strings.HasPrefix(path, cpuRoot):
		number, rest, _ := strings.Cut(strings.TrimPrefix(path, cpuRoot), "/")
		id, err := strconv.Atoi(number)
		at := slices.IndexFunc(inv.CPUs, func(c host.CPU) bool { return c.ID == id })
		if err != nil || at < 0 {
			break
		}
		applyCPU(inv, at, rest, value)
	}
	if _, known := inv.Settings[path]; known {
		inv.Settings[path] = value
	}
}

func applyCPU(inv *host.Inventory, at int, file, value string) {
	cpu := &inv.CPUs[at]
	var state int
	switch n, _ := fmt.Sscanf(file, "cpuidle/state%d/disable", &state); {
	case file == "cpufreq/scaling_governor":
		cpu.Governor = value
	case file == "online" && value == "0":
		takeOffline(inv, at)
	case n == 1 && value == "1":
		// The shallower states are left, according to CPU 0's table.
		var left host.IdleState
		for _, s := range inv.CPUIdle.States[:min(state, len(inv.CPUIdle.States))] {
			left = s
		}
		if left.LatencyUS < cpu.IdleExitUS {
			cpu.IdleState, cpu.IdleExitUS = left.Name, left.LatencyUS
		}
	}
}

// takeOffline takes a CPU offline, and removes it from the lists of what its core's threads
// share.
func takeOffline(inv *host.Inventory, at int) {
	id := inv.CPUs[at].ID
	without := func(list []int) []int {
		return slices.DeleteFunc(slices.Clone(list), func(other int) bool { return other == id })
	}
	inv.CPUs[at].Online, inv.CPUs[at].Siblings = false, nil
	inv.AllowedCPUs = without(inv.AllowedCPUs)
	for i := range inv.CPUs {
		inv.CPUs[i].Siblings = without(inv.CPUs[i].Siblings)
	}
}
