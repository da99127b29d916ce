package host

import (
	"fmt"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/pci"
)

// ReadTree takes the inventory from a tree, live or recorded.
func ReadTree(t Tree) (*Inventory, error) {
	inv := &Inventory{
		Schema:   Schema,
		Hostname: files.Text(t, "/proc/sys/kernel/hostname"),
	}
	info, err := t.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil, &exit.MissingError{
			Capability: "proc",
			Reason:     "cannot read /proc/cpuinfo",
			Remedy:     "mount -t proc proc /proc",
			Err:        err,
		}
	}
	if !t.Exists(cpuRoot) {
		return nil, &exit.MissingError{
			Capability: "sysfs",
			Reason:     cpuRoot + " is not there",
			Remedy:     "mount -t sysfs sysfs /sys",
		}
	}
	processors := parseCPUInfo(string(info))
	config := readKernelConfig(t)
	inv.Kernel = readKernel(t, config)
	inv.Distribution = readDistribution(t)
	inv.MemoryBytes = kilobytes(field(files.Text(t, "/proc/meminfo"), "MemTotal"))
	inv.CPUs, inv.Caches = readCPUs(t, processors)
	if len(inv.CPUs) == 0 {
		return nil, fmt.Errorf("%s/present names no CPU", cpuRoot)
	}
	inv.SMT = files.Text(t, cpuRoot+"/smt/control")
	inv.CPUFlags = interestingFlags(processors)
	inv.NUMANodes = readNUMANodes(t, inv)
	inv.Hugepages = readHugepages(t, "/sys/kernel/mm/hugepages")
	inv.TransparentHugepages = bracketed(files.Text(t, "/sys/kernel/mm/transparent_hugepage/enabled"))
	inv.NICs = readNICs(t)
	inv.Networks = readNetworks(t)
	inv.PCIDevices = pci.ReadDevices(t)
	inv.Functions, inv.IOMMU = pci.ReadFunctions(t), pci.ReadIOMMU(t)
	inv.Cgroup = readCgroup(t)
	inv.Clock = readClock(t, inv.CPUFlags)
	inv.Virtualisation = readVirtualisation(t, inv)
	inv.Mitigations = readMitigations(t)
	inv.CPUIdle = readCPUIdle(t)
	inv.Privileges, inv.AllowedCPUs = readSelf(t, inv)
	inv.Features = readFeatures(t, inv, config)
	inv.Config = latencyConfig(config)
	inv.Settings = readSettings(t, inv)
	inv.Interrupts, inv.LocalInterrupts = readInterrupts(t)
	inv.Usage = readUsage(t)
	inv.Services = t.Running(services)
	inv.Kubelet = readKubelet(t, inv.Services)
	inv.SwapBytes = kilobytes(field(files.Text(t, "/proc/meminfo"), "SwapTotal"))
	inv.WakeLatencyUS = readWakeLatency(t)
	return inv, nil
}

// bracketed returns the chosen word of a list such as "always [madvise] never" or "none
// (voluntary) full".
func bracketed(s string) string {
	for _, word := range strings.Fields(s) {
		if inner := strings.Trim(word, "[]()"); inner != word {
			return inner
		}
	}
	return ""
}
