package tune

// bootAskedKinds are parameters that no profile sets by default: the machine's use asks for
// them, or the user does.
var bootAskedKinds = []bootKind{
	{
		Advice: Advice{
			Name:   "systemd.unified_cgroup_hierarchy",
			What:   "Which version of control groups systemd mounts: 0 is version 1, 1 is version 2. Containers get that one.",
			Cost:   "All of the host's services change with it.",
			Source: "systemd(1); the container study's two sets of parameters",
		},
		absent: func(s bootSite) string {
			if s.use.Cgroup != "" && s.inv.Cgroup.Mode == s.use.Cgroup {
				return "this host has control groups of version " + s.use.Cgroup[1:] + " already"
			}
			return ""
		},
		conflicts: func(_ bootSite, word string) []string {
			if word == "1" {
				return []string{"runtimes that know version 1 only: LXC before 4.0, Docker before 20.10"}
			}
			return []string{
				"systemd 256 and 257 also need SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 on the command line, and 258 no longer supports version 1",
				"partition: isolated is of version 2; on version 1 nines uses exclusive cpusets and takes load balancing off",
			}
		},
	},
	{
		Advice: Advice{
			Name:   "intel_iommu",
			What:   "Turns the IOMMU on, which vfio-pci needs to give a device to a container or a virtual machine safely.",
			Cost:   "Devices' accesses to memory are translated; with iommu=pt the host's own devices are exempt.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; Documentation/driver-api/vfio.rst",
		},
		conflicts: iommuConflicts,
		absent:    notIntels,
	},
	{
		Advice: Advice{
			Name:   "amd_iommu",
			What:   "off: no IOMMU, so that igb_uio and uio_pci_generic can drive devices, without the cost of translation.",
			Cost:   "A device that a program drives can write to all memory; vfio-pci works only in its unsafe mode.",
			Source: "thesis 5.6.3 and listing 5.13",
		},
		conflicts: iommuConflicts,
		absent:    notAMDs,
		omit:      "vfio-pci and virtual machines with devices need the IOMMU. The thesis turned it off because its igb_uio does not work with it; iommu=pt gives the host's own devices the same speed.",
	},
	{
		Advice: Advice{
			Name:   "iommu",
			What:   "pt: the host's own devices are not translated, only those assigned to programs.",
			Cost:   "The IOMMU does not confine the host's drivers.",
			Source: "Documentation/admin-guide/kernel-parameters.txt",
		},
		conflicts: iommuConflicts,
	},
	{
		Advice: Advice{
			Name:   "idle",
			What:   "poll: idle CPUs spin instead of halting, all of them.",
			Cost:   "The machine always draws full power and gets hot, so turbo clocks are lost; a core's other thread runs at half its speed.",
			Source: "Documentation/admin-guide/pm/cpuidle.rst; thesis listing 5.13",
		},
		absent: x86,
		conflicts: func(s bootSite, word string) []string {
			var list []string
			if word == "poll" && len(s.siblingCPUs()) > 0 {
				list = append(list, "SMT is on: an idle thread that polls takes half of the core from its sibling; add nosmt")
			}
			return append(list, "cpu_dma_latency and pm_qos_resume_latency_us then have no effect")
		},
		omit: "Heat on every CPU. pm_qos_resume_latency_us does the same for the chosen CPUs alone, and can be undone.",
	},
	{
		Advice: Advice{
			Name:   "intel_idle.max_cstate",
			What:   "0: the driver of Intel's sleep states is not used.",
			Cost:   "The firmware's states are used instead, which may be deeper.",
			Source: "Documentation/admin-guide/pm/intel_idle.rst; thesis listing 5.13",
		},
		omit: "cpu_dma_latency does the same at runtime; on AMD processors, as in the thesis, it has no effect.",
	},
	{
		Advice: Advice{
			Name:   "intel_pstate",
			What:   "disable: another driver sets the clock of Intel's processors.",
			Cost:   "energy_performance_preference and intel_pstate.min_perf_pct are gone, and turbo may be.",
			Source: "Documentation/admin-guide/pm/intel_pstate.rst; thesis listing 5.13; tuned cpu-partitioning",
		},
		absent: notIntels,
		omit:   "The governor performance keeps the clock high with that driver too; on AMD processors, as in the thesis, it has no effect.",
	},
	{
		Advice: Advice{
			Name:   "mitigations",
			What:   "off: removes the defences against attacks through the processor's caches and predictors, which makes system calls and interrupts faster.",
			Cost:   "Any program on the machine may be able to read the memory of all others. Never use it on a machine that runs untrusted code.",
			Source: "Documentation/admin-guide/kernel-parameters.txt",
		},
		omit: "This is a security decision, not a latency one: request it with --boot mitigations=off.",
	},
	{
		Advice: Advice{
			Name:   "apparmor",
			What:   "0 turns AppArmor off.",
			Cost:   "Programs are no longer confined by it.",
			Source: "thesis listing 5.13",
		},
		omit: "It does not affect latency; the thesis turned it off because it stopped containers from mounting their root.",
	},
	{
		Advice: Advice{
			Name:   "nohz",
			What:   "on: the tick ends on idle CPUs.",
			Cost:   "Nothing.",
			Source: "Documentation/timers/no_hz.rst; thesis listing 5.13",
		},
		omit: "It is the default.",
	},
	{
		Advice: Advice{
			Name:   "random.trust_cpu",
			What:   "on: the kernel's random numbers begin with the processor's.",
			Cost:   "It relies on the processor's vendor.",
			Source: "Documentation/admin-guide/kernel-parameters.txt; thesis listing 5.13",
		},
		omit: "It makes booting faster, not running.",
	},
}

func iommuConflicts(s bootSite, word string) []string {
	off := word == "off"
	switch {
	case off && (s.use.DeviceAccess || s.use.VMs):
		return []string{"vfio-pci: this experiment assigns devices or runs virtual machines, and needs the IOMMU on"}
	case off:
		return []string{"vfio-pci and virtual machines with devices need the IOMMU on"}
	case word == "on" || word == "pt":
		for _, name := range []string{"amd_iommu", "intel_iommu", "iommu"} {
			if now, _ := s.inv.Kernel.Parameter(name); now == "off" {
				return []string{name + "=off is in force; remove it from the command line"}
			}
		}
		return []string{"igb_uio and uio_pci_generic do not drive a device behind an IOMMU that translates; vfio-pci does"}
	}
	return nil
}

// notIntels says why a host lacks what only Intel processors have; empty on an Intel
// processor.
func notIntels(s bootSite) string {
	if intel(s.inv) {
		return ""
	}
	return "this processor is not Intel's"
}

// notAMDs does the same for AMD.
func notAMDs(s bootSite) string {
	if amd(s.inv) {
		return ""
	}
	return "this processor is not AMD's"
}
