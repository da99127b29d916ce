package host

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/files"
)

func readClock(t Tree, flags []string) Clock {
	const dir = "/sys/devices/system/clocksource/clocksource0"
	return Clock{
		Source:      files.Text(t, dir+"/current_clocksource"),
		Available:   strings.Fields(files.Text(t, dir+"/available_clocksource")),
		ConstantTSC: slices.Contains(flags, "constant_tsc"),
		NonstopTSC:  slices.Contains(flags, "nonstop_tsc"),
	}
}

// hypervisorsByDMI maps the start of the firmware's vendor or product to the name
// that systemd-detect-virt gives it.
var hypervisorsByDMI = []struct{ prefix, name string }{
	{"KVM", "kvm"}, {"QEMU", "qemu"}, {"Amazon EC2", "amazon"}, {"Google Compute Engine", "google"},
	{"VMware", "vmware"}, {"innotek", "oracle"}, {"VirtualBox", "oracle"}, {"Xen", "xen"},
	{"Microsoft Corporation Virtual", "microsoft"}, {"Bochs", "bochs"}, {"Parallels", "parallels"},
	{"OpenStack", "kvm"}, {"Apple Virtualization", "apple"},
}

func readVirtualisation(t Tree, inv *Inventory) Virtualisation {
	return Virtualisation{Hypervisor: hypervisor(t, inv), Container: container(t)}
}

func hypervisor(t Tree, inv *Inventory) string {
	if !slices.Contains(inv.CPUFlags, "hypervisor") {
		return ""
	}
	vendor := files.Text(t, "/sys/class/dmi/id/sys_vendor")
	product := files.Text(t, "/sys/class/dmi/id/product_name")
	for _, h := range hypervisorsByDMI {
		for _, s := range []string{product, vendor, vendor + " " + product} {
			if strings.HasPrefix(s, h.prefix) {
				return h.name
			}
		}
	}
	// MicroVMs have no firmware tables; their paravirtual clock names them.
	for _, source := range inv.Clock.Available {
		switch source {
		case "kvm-clock":
			return "kvm"
		case "xen":
			return "xen"
		}
		if strings.HasPrefix(source, "hyperv") {
			return "microsoft"
		}
	}
	return "unknown"
}

// The initial namespaces have fixed inode numbers (include/linux/proc_ns.h:
// PROC_PID_INIT_INO, PROC_UTS_INIT_INO).
const (
	initialPIDNamespace = "pid:[4026531836]"
	initialUTSNamespace = "uts:[4026531838]"
)

// container names the container that we run in. Marker files alone do not prove one: a
// virtual machine booted from a container image has them too.
func container(t Tree) string {
	pid, errPID := t.ReadLink("/proc/self/ns/pid")
	uts, errUTS := t.ReadLink("/proc/self/ns/uts")
	if errPID == nil && errUTS == nil && pid == initialPIDNamespace && uts == initialUTSNamespace {
		return ""
	}
	if name := files.Text(t, "/run/systemd/container"); name != "" {
		return name
	}
	switch {
	case t.Exists("/run/.containerenv"):
		return "podman"
	case t.Exists("/.dockerenv"):
		return "docker"
	case errPID == nil && pid != initialPIDNamespace:
		return "unknown"
	}
	return ""
}

// capabilitiesOfInterest are those that the lab and the engine use, by bit
// (include/uapi/linux/capability.h).
var capabilitiesOfInterest = map[int]string{
	1: "dac_override", 12: "net_admin", 13: "net_raw", 14: "ipc_lock", 18: "sys_chroot",
	19: "sys_ptrace", 21: "sys_admin", 23: "sys_nice", 24: "sys_resource", 27: "mknod",
	38: "perfmon", 39: "bpf",
}

// readSelf reads the process's privileges, and the CPUs that it may use.
func readSelf(t Tree, inv *Inventory) (Privileges, []int) {
	status := files.Text(t, "/proc/self/status")
	p := Privileges{Capabilities: []string{}}
	if ids := strings.Fields(field(status, "Uid")); len(ids) > 1 {
		p.Root = ids[1] == "0" // real, effective, saved, file system
	}
	bits, _ := strconv.ParseUint(field(status, "CapEff"), 16, 64)
	for bit, name := range capabilitiesOfInterest {
		if bits&(1<<bit) != 0 {
			p.Capabilities = append(p.Capabilities, name)
		}
	}
	sort.Strings(p.Capabilities)
	allowed, err := cpulist.Parse(field(status, "Cpus_allowed_list"))
	if err != nil || len(allowed) == 0 {
		allowed = nil
		for _, c := range inv.CPUs {
			allowed = append(allowed, c.ID)
		}
	}
	allowed = append(allowed, apartAtBoot(t, inv, allowed)...)
	slices.Sort(allowed)
	return p, slices.DeleteFunc(allowed, func(id int) bool {
		return !slices.ContainsFunc(inv.CPUs, func(c CPU) bool { return c.ID == id && c.Online })
	})
}

// apartAtBoot returns the CPUs of isolcpus= that the process may use. The kernel starts all
// processes without them (kernel/sched/isolation.c), so they are not in its affinity. But
// sched_setaffinity(2) can add them: only the process's cpuset limits it.
func apartAtBoot(t Tree, inv *Inventory, allowed []int) []int {
	cpuset, ok := inv.Cgroup.Controller("cpuset")
	if !ok {
		return nil
	}
	file := "cpuset.cpus.effective"
	if cpuset.Version == 1 {
		file = "cpuset.effective_cpus"
	}
	// A group without the controller has its parent's CPUs.
	var may []int
	for group := path.Clean("/" + cpuset.Self); ; group = path.Dir(group) {
		if may = cpuList(t, path.Join(cpuset.Path, group, file)); len(may) > 0 || group == "/" {
			break
		}
	}
	var apart []int
	for _, cpu := range inv.CPUs {
		if cpu.Isolated && slices.Contains(may, cpu.ID) && !slices.Contains(allowed, cpu.ID) {
			apart = append(apart, cpu.ID)
		}
	}
	return apart
}

// CPU finds a CPU by its number.
func (inv *Inventory) CPU(id int) (CPU, error) {
	i, ok := slices.BinarySearchFunc(inv.CPUs, id, func(c CPU, id int) int { return c.ID - id })
	if !ok {
		return CPU{}, fmt.Errorf("the host has no CPU %d", id)
	}
	return inv.CPUs[i], nil
}
