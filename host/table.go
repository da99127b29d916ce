package host

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/terminal"
)

// Write prints what matters to a measurement, aligned.
func (inv *Inventory) Write(out io.Writer) error {
	t := &terminal.Table{}
	row := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	if inv.Source != "" {
		row("source", "%s", inv.Source)
	}
	row("host", "%s, %s", inv.Hostname, orUnknown(inv.Distribution.Name))
	row("kernel", "%s, preemption %s%s", inv.Kernel.Release, orUnknown(inv.Kernel.Preemption), choose(inv.Kernel.RealTime, ", real time", ""))
	row("", "%s", inv.Kernel.CommandLine)
	row("runs in", "%s", inv.Virtualisation)
	row("clock", "%s, TSC %s, %s", orUnknown(inv.Clock.Source),
		choose(inv.Clock.ConstantTSC, "constant", "not constant"), choose(inv.Clock.NonstopTSC, "nonstop", "stops in sleep"))
	inv.writeCPUs(row)
	inv.writeMemory(row)
	row("cgroups", "%s", inv.Cgroup)
	row("privileges", "%s, capabilities %s", choose(inv.Privileges.Root, "root", "not root"), orNone(strings.Join(inv.Privileges.Capabilities, " ")))
	for _, s := range []State{StateYes, StateModule, StateUnknown, StateNo} {
		if list := inv.featuresIn(s); len(list) > 0 {
			row(featureHeading[s], "%s", strings.Join(list, ", "))
		}
	}
	for i, line := range inv.waysToGet() {
		row(choose(i == 0, "to get", ""), "%s", line)
	}
	row("", "")
	t.Row("interface", "driver", "PCI", "NUMA", "speed", "MTU", "state", "VFs")
	for _, n := range inv.NICs {
		t.Row(n.Name, dash(n.kind()), dash(n.PCIAddress),
			dashIf(n.NUMANode < 0, n.NUMANode), dashIf(n.SpeedMbit == 0, fmt.Sprintf("%d Mbit/s", n.SpeedMbit)), n.MTU, dash(n.State),
			dashIf(n.TotalVFs == 0, fmt.Sprintf("%d of %d", n.NumVFs, n.TotalVFs)))
	}
	if len(inv.PCIDevices) > 0 {
		t.Row()
		t.Row("for DPDK", "driver", "NUMA", "files")
	}
	for _, d := range inv.PCIDevices {
		t.Row(d.Address, d.Driver, dashIf(d.NUMANode < 0, d.NUMANode), dash(strings.Join(d.Files, " ")))
	}
	inv.writeFunctions(t)
	return t.Write(out, terminal.Style{})
}

var featureHeading = map[State]string{
	StateYes: "has", StateModule: "has as modules", StateUnknown: "to be tried", StateNo: "lacks",
}

func (inv *Inventory) featuresIn(s State) []string {
	var list []string
	for _, f := range inv.Features {
		if f.State == s {
			name := f.Name
			if f.Name == FeatureLXC && s == StateYes {
				name += " " + f.Detail
			}
			list = append(list, name)
		}
	}
	return list
}

// waysToGet says how to get what the host lacks, where there is a way.
func (inv *Inventory) waysToGet() []string {
	var list []string
	for _, f := range inv.Features {
		if f.State == StateNo && remedies[f.Name].remedy != "" {
			list = append(list, WayToGet(f.Name))
		}
	}
	return list
}

func (inv *Inventory) writeCPUs(row func(name, format string, args ...any)) {
	var online, offline, isolated, nohz, packages []int
	cores := map[string]bool{}
	governors, models := map[string]bool{}, map[string]bool{}
	for _, c := range inv.CPUs {
		if !c.Online {
			offline = append(offline, c.ID)
			continue
		}
		online = append(online, c.ID)
		cores[fmt.Sprint(c.Package, c.Siblings)] = true
		if !slices.Contains(packages, c.Package) {
			packages = append(packages, c.Package)
		}
		if c.Isolated {
			isolated = append(isolated, c.ID)
		}
		if c.NoHzFull {
			nohz = append(nohz, c.ID)
		}
		if c.Governor != "" {
			governors[c.Governor] = true
		}
		if c.Model != "" {
			models[c.Model] = true
		}
	}
	row("CPU", "%s", orUnknown(strings.Join(sortedNames(models), " + ")))
	row("CPUs", "%d online (%s), %s, %s, SMT %s", len(online), cpulist.Format(online),
		terminal.Count(len(cores), "core"), terminal.Count(len(packages), "package"), orUnknown(inv.SMT))
	if len(offline) > 0 {
		row("", "offline: %s", cpulist.Format(offline))
	}
	if !slices.Equal(online, inv.AllowedCPUs) {
		row("", "this process may use %s", cpulist.Format(inv.AllowedCPUs))
	}
	row("", "isolated: %s; nohz_full: %s", orNone(cpulist.Format(isolated)), orNone(cpulist.Format(nohz)))
	row("", "governor %s, idle driver %s", orNone(strings.Join(sortedNames(governors), " ")), orNone(inv.CPUIdle.Driver))
}

func (inv *Inventory) writeMemory(row func(name, format string, args ...any)) {
	row("memory", "%s, transparent hugepages %s", terminal.GiB(inv.MemoryBytes), orUnknown(inv.TransparentHugepages))
	for _, h := range inv.Hugepages {
		row("", "hugepages of %s: %d, %d free", terminal.MiB(h.SizeBytes), h.Total, h.Free)
	}
	for _, n := range inv.NUMANodes {
		row(fmt.Sprintf("NUMA node %d", n.ID), "CPUs %s, %s, distances %v", orNone(cpulist.Format(n.CPUs)), terminal.GiB(n.MemoryTotalBytes), n.Distances)
		if len(inv.NUMANodes) > 1 {
			for _, h := range n.Hugepages {
				row("", "hugepages of %s: %d, %d free", terminal.MiB(h.SizeBytes), h.Total, h.Free)
			}
		}
	}
}

// String names hypervisor and container.
func (v Virtualisation) String() string {
	switch {
	case v.Hypervisor == "" && v.Container == "":
		return "bare metal"
	case v.Container == "":
		return "a virtual machine (" + v.Hypervisor + ")"
	case v.Hypervisor == "":
		return "a container (" + v.Container + ")"
	}
	return fmt.Sprintf("a container (%s) in a virtual machine (%s)", v.Container, v.Hypervisor)
}

// String names the mode, and the mounts of the controllers that the lab uses.
func (c Cgroup) String() string {
	parts := []string{c.Mode}
	for _, name := range []string{"cpuset", "cpu", "memory"} {
		if m, ok := c.Controller(name); ok {
			parts = append(parts, fmt.Sprintf("%s at %s (v%d)", name, m.Path, m.Version))
		} else {
			parts = append(parts, "no "+name)
		}
	}
	return strings.Join(parts, ", ")
}

func (n NIC) kind() string {
	if n.Driver == "" && n.Virtual {
		return "virtual"
	}
	return n.Driver
}

func sortedNames(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func orUnknown(s string) string            { return choose(s == "", "unknown", s) }
func orNone(s string) string               { return choose(s == "", "none", s) }
func dash(s string) string                 { return choose(s == "", "-", s) }
func dashIf(absent bool, value any) string { return choose(absent, "-", fmt.Sprint(value)) }
