package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/kernel/ethtool"
)

// No machine below was read: each is put together from published data, which its Source
// names. The option -update writes the files in testdata/hosts from them.

// machine is what the constructed inventories have in common.
type machine struct {
	source                       string
	hostname                     string
	kernel                       Kernel
	distribution                 Distribution
	model                        string
	numaOf                       func(core int) int
	packageOf                    func(core int) int
	threads                      [][]int // by core: its CPUs
	offline                      []int
	l3                           func(core int) int // cores with the same number share
	l1dKiB, l1iKiB, l2KiB, l3KiB int64
	minMHz, maxMHz               int
	governor                     string
	isolated, nohz               []int
	smt                          string
	memoryPerNode                int64
	distances                    [][]int
	nics                         []NIC
	cgroup                       Cgroup
	privileges                   Privileges
	idle                         CPUIdle
	flags                        []string
	lxc                          string
	noise                        noise
}

// noise is what disturbs the machine's CPUs.
type noise struct {
	config           map[string]string
	settings         map[string]string
	interrupts       []Interrupt
	local            []Interrupt
	usage            []CPUUsage
	services         []string
	swapBytes        int64
	wakeLatencyUS    *int
	mitigations      []Mitigation
	hypervisor       string
	clock            string // tsc if empty
	clocks           []string
	energyPreference string
	hugepages        [2]int64 // of 2 MiB and 1 GiB, on each node
}

func (m machine) inventory() *Inventory {
	inv := &Inventory{
		Schema: Schema, Source: m.source, Hostname: m.hostname, Kernel: m.kernel, Distribution: m.distribution,
		CPUFlags: m.flags, SMT: m.smt, TransparentHugepages: "madvise", NICs: m.nics, Cgroup: m.cgroup,
		Clock:      Clock{Source: "tsc", Available: []string{"tsc", "hpet", "acpi_pm"}, ConstantTSC: true, NonstopTSC: true},
		CPUIdle:    m.idle,
		Privileges: m.privileges,
		Config:     m.noise.config, Settings: m.noise.settings, Interrupts: m.noise.interrupts, LocalInterrupts: m.noise.local,
		Usage: m.noise.usage, Services: m.noise.services, SwapBytes: m.noise.swapBytes, WakeLatencyUS: m.noise.wakeLatencyUS,
		Mitigations: m.noise.mitigations, Virtualisation: Virtualisation{Hypervisor: m.noise.hypervisor},
	}
	if m.noise.clock != "" {
		inv.Clock.Source, inv.Clock.Available = m.noise.clock, m.noise.clocks
	}
	if thp := m.noise.settings["/sys/kernel/mm/transparent_hugepage/enabled"]; thp != "" {
		inv.TransparentHugepages = thp
	}
	deepest := IdleState{}
	for _, state := range m.idle.States {
		if !state.Disabled && state.LatencyUS >= deepest.LatencyUS {
			deepest = state
		}
	}
	online := func(cpus []int) []int {
		return slices.DeleteFunc(slices.Clone(cpus), func(id int) bool { return slices.Contains(m.offline, id) })
	}
	sharing := map[int][]int{} // by L3
	nodes := map[int][]int{}
	for core, cpus := range m.threads {
		sharing[m.l3(core)] = append(sharing[m.l3(core)], online(cpus)...)
		nodes[m.numaOf(core)] = append(nodes[m.numaOf(core)], online(cpus)...)
	}
	for _, list := range sharing {
		slices.Sort(list)
	}
	seenL3 := map[int]bool{}
	for core, cpus := range m.threads {
		here := online(cpus)
		inv.Caches = append(inv.Caches, Cache{1, "Data", m.l1dKiB << 10, here},
			Cache{1, "Instruction", m.l1iKiB << 10, here}, Cache{2, "Unified", m.l2KiB << 10, here})
		if l3 := m.l3(core); !seenL3[l3] {
			seenL3[l3] = true
			inv.Caches = append(inv.Caches, Cache{3, "Unified", m.l3KiB << 10, sharing[l3]})
		}
		for _, id := range cpus {
			cpu := CPU{ID: id, Package: -1, Core: -1, NUMANode: -1, Model: m.model}
			if slices.Contains(here, id) {
				cpu = CPU{ID: id, Online: true, Package: m.packageOf(core), Core: core, NUMANode: m.numaOf(core), Siblings: here,
					L2: here, L3: sharing[m.l3(core)], Governor: m.governor, MinMHz: m.minMHz, MaxMHz: m.maxMHz,
					Isolated: slices.Contains(m.isolated, id), NoHzFull: slices.Contains(m.nohz, id), Model: m.model,
					EnergyPreference: m.noise.energyPreference, IdleState: deepest.Name, IdleExitUS: deepest.LatencyUS}
				inv.AllowedCPUs = append(inv.AllowedCPUs, id)
			}
			inv.CPUs = append(inv.CPUs, cpu)
		}
	}
	slices.SortStableFunc(inv.Caches, func(a, b Cache) int { return a.Level - b.Level })
	slices.SortFunc(inv.CPUs, func(a, b CPU) int { return a.ID - b.ID })
	slices.Sort(inv.AllowedCPUs)
	pages := m.noise.hugepages
	small, large := Hugepages{2 << 20, pages[0], pages[0]}, Hugepages{1 << 30, pages[1], pages[1]}
	for id := range len(nodes) {
		slices.Sort(nodes[id])
		inv.NUMANodes = append(inv.NUMANodes, NUMANode{ID: id, CPUs: nodes[id], MemoryTotalBytes: m.memoryPerNode,
			MemoryFreeBytes: m.memoryPerNode * 9 / 10, Hugepages: []Hugepages{small, large}, Distances: m.distances[id]})
		inv.MemoryBytes += m.memoryPerNode
	}
	small.Total *= int64(len(nodes))
	large.Total *= int64(len(nodes))
	small.Free, large.Free = small.Total, large.Total
	inv.Hugepages = []Hugepages{small, large}
	inv.Features = m.features()
	return inv
}

// features are those of a distribution's kernel: everything that can be a module is one.
func (m machine) features() []Feature {
	lxc := Feature{Name: FeatureLXC, State: StateNo, Detail: "lxc-start is not there"}
	if m.lxc != "" {
		lxc = Feature{Name: FeatureLXC, State: StateYes, Detail: m.lxc}
	}
	since := func(name string, major, minor int, state State, detail string) Feature {
		if !m.kernel.AtLeast(major, minor) {
			return Feature{Name: name, State: StateNo, Detail: fmt.Sprintf("needs Linux %d.%d", major, minor)}
		}
		return Feature{Name: name, State: state, Detail: detail}
	}
	list := []Feature{
		lxc,
		since(FeatureAFXDP, 4, 18, StateYes, ""),
		since(FeatureBTF, 5, 4, StateYes, "/sys/kernel/btf/vmlinux"),
		since(FeatureIOURing, 5, 1, StateYes, ""),
		since(FeatureXDPVeth, 4, 19, StateModule, "by the kernel's release; not tried"),
		{Name: FeatureCpuset, State: StateYes, Detail: m.cgroup.Mounts[0].Path},
		{Name: FeatureHugepages, State: StateYes},
		{Name: FeatureNetns, State: StateYes, Detail: "/proc/self/ns/net"},
	}
	for _, f := range configFeatures {
		if f.module != "" {
			list = append(list, Feature{Name: f.name, State: StateModule, Detail: "module " + f.module})
		}
	}
	slices.SortFunc(list, func(a, b Feature) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) })
	return list
}

// cgroupV2 is how systemd mounts control groups since Debian 11.
var cgroupV2 = Cgroup{Mode: CgroupV2, Mounts: []CgroupMount{{Path: "/sys/fs/cgroup", Version: 2,
	Controllers: []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids", "rdma"}, Self: "/user.slice"}}}

// cgroupV1 is how systemd mounts them where the distribution chose version 1.
var cgroupV1 = Cgroup{Mode: CgroupHybrid, Mounts: []CgroupMount{
	{Path: "/sys/fs/cgroup/cpuset", Version: 1, Controllers: []string{"cpuset"}, Self: "/"},
	{Path: "/sys/fs/cgroup/cpu,cpuacct", Version: 1, Controllers: []string{"cpu", "cpuacct"}, Self: "/user.slice"},
	{Path: "/sys/fs/cgroup/memory", Version: 1, Controllers: []string{"memory"}, Self: "/user.slice"},
	{Path: "/sys/fs/cgroup/unified", Version: 2, Controllers: []string{}, Self: "/user.slice"},
}}

func rootPrivileges() Privileges {
	p := Privileges{Root: true}
	for _, name := range capabilitiesOfInterest {
		p.Capabilities = append(p.Capabilities, name)
	}
	slices.Sort(p.Capabilities)
	return p
}

func serverNIC(name, pci string, numa int) NIC {
	return NIC{Name: name, Driver: "i40e", PCIAddress: pci, NUMANode: numa, SpeedMbit: 10000,
		MAC: "3c:fd:fe:00:00:00", MTU: 1500, State: "up", Queues: 32, TotalVFs: 64}
}

// epyc7551P is the device under test of the thesis "Lightweight low-latency
// virtual networking". One die is a NUMA node of 8 cores, in two groups of 4 that
// share an L3 cache. nosmt leaves the second threads, 32 to 63, offline.
func epyc7551P() *Inventory {
	m := machine{
		source: "constructed, not read: table 6.1, listing 5.13 and section 6.2 of 'Lightweight low-latency virtual networking' (CPU, memory, NICs on NUMA nodes 1 and 3, kernel parameters); settings as Debian 11 starts with these parameters; " +
			"AMD's data sheet of the EPYC 7551P (caches, frequencies); distances as Naples firmware gives them; names and PCI addresses are made up",
		hostname: "dut",
		kernel: Kernel{Release: "5.10.0-14-amd64", Version: "#1 SMP Debian 5.10.113-1 (2022-04-29)", Machine: "x86_64", Preemption: "voluntary",
			Image: "/boot/vmlinuz-5.10.0-14-amd64", CommandLine: "mce=ignore_ce tsc=reliable idle=poll nohz=on audit=0 amd_iommu=off nosmt apparmor=0 nohz_full=8,9,10,24,25,26 rcu_nocbs=8,9,10,24,25,26 skew_tick=1 irqaffinity=0 intel_pstate=disable nmi_watchdog=0 nosoftlockup rcu_nocb_poll random.trust_cpu=on intel_idle.max_cstate=0"},
		distribution: Distribution{ID: "debian", Version: "11", Name: "Debian GNU/Linux 11 (bullseye)"},
		model:        "AMD EPYC 7551P 32-Core Processor",
		numaOf:       func(core int) int { return core / 8 },
		packageOf:    func(int) int { return 0 },
		l3:           func(core int) int { return core / 4 },
		l1dKiB:       32, l1iKiB: 64, l2KiB: 512, l3KiB: 8192, minMHz: 1200, maxMHz: 2000, governor: "performance",
		nohz: []int{8, 9, 10, 24, 25, 26}, smt: "forceoff", memoryPerNode: 32 << 30,
		distances: [][]int{{10, 16, 16, 16}, {16, 10, 16, 16}, {16, 16, 10, 16}, {16, 16, 16, 10}},
		nics: []NIC{
			serverNIC("enp33s0f0", "0000:21:00.0", 1),
			serverNIC("enp97s0f0", "0000:61:00.0", 3),
		},
		cgroup: cgroupV2, privileges: rootPrivileges(), flags: []string{"avx2", "constant_tsc", "nonstop_tsc", "pdpe1gb", "rdtscp", "svm"}, lxc: "4.0.6",
		noise: noise{
			config: debianConfig("HZ=250", "PREEMPT_VOLUNTARY=y"),
			settings: debianSettings("0-31", "ffffffff", map[string]string{
				"/proc/sys/kernel/nmi_watchdog": "0", "/proc/sys/kernel/soft_watchdog": "0", "/proc/sys/kernel/watchdog": "0",
				"/proc/sys/kernel/numa_balancing": "1", "/proc/irq/default_smp_affinity": "1",
				"/sys/devices/system/machinecheck/machinecheck0/ignore_ce": "1",
				// Unbound work stays off the CPUs of nohz_full
				// (kernel/sched/isolation.c).
				"/sys/devices/virtual/workqueue/cpumask":              "f8fff8ff",
				"/sys/devices/system/cpu/smt/active":                  "0",
				"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "acpi-cpufreq",
			}),
			interrupts: []Interrupt{
				{ID: "26", Name: "xhci_hcd", Counts: map[int]int64{0: 71}, Affinity: "0", Effective: "0"},
				{ID: "45", Name: "ahci[0000:12:00.2]", Counts: map[int]int64{0: 40217}, Affinity: "0", Effective: "0"},
			},
			mitigations: []Mitigation{
				{"meltdown", "Not affected"},
				{"spectre_v2", "Mitigation: Retpolines, IBPB: conditional, STIBP: disabled, RSB filling"},
			},
		},
	}
	for core := range 32 {
		m.threads = append(m.threads, []int{core, 32 + core})
		m.offline = append(m.offline, 32+core)
	}
	return m.inventory()
}

// xeonE52640 is the machine of "On the use of kernel bypass mechanisms for high-performance
// inter-container communications", with SMT on. Dell's firmware alternates CPU numbers
// between the sockets: node 0 has the even ones.
func xeonE52640() *Inventory {
	m := machine{
		source: "constructed, not read: section 4 of 'On the use of kernel bypass mechanisms for high-performance inter-container communications' (Dell R630, 2 Xeon E5-2640 v4, 64 GB, X710 DA2, Linux 4.15), " +
			"with SMT on, which the paper left off; Intel's data sheet (caches, frequencies); CPU numbers and distances as Dell firmware gives them; names and PCI addresses are made up",
		hostname:     "r630",
		kernel:       Kernel{Release: "4.15.0-213-generic", Version: "#224-Ubuntu SMP", Machine: "x86_64", Preemption: "voluntary", CommandLine: "quiet"},
		distribution: Distribution{ID: "ubuntu", Version: "18.04", Name: "Ubuntu 18.04 LTS"},
		model:        "Intel(R) Xeon(R) CPU E5-2640 v4 @ 2.40GHz",
		numaOf:       func(core int) int { return core % 2 },
		packageOf:    func(core int) int { return core % 2 },
		l3:           func(core int) int { return core % 2 },
		l1dKiB:       32, l1iKiB: 32, l2KiB: 256, l3KiB: 25600, minMHz: 1200, maxMHz: 2400, governor: "performance",
		smt: "on", memoryPerNode: 32 << 30, distances: [][]int{{10, 21}, {21, 10}},
		nics: []NIC{
			serverNIC("enp4s0f0", "0000:04:00.0", 0),
			serverNIC("enp4s0f1", "0000:04:00.1", 0),
		},
		cgroup: cgroupV1, privileges: rootPrivileges(), flags: []string{"avx2", "constant_tsc", "ht", "nonstop_tsc", "pdpe1gb", "rdtscp", "vmx"}, lxc: "3.0.3",
		idle: CPUIdle{Driver: "intel_idle", Governor: "menu", States: []IdleState{{"POLL", 0, false}, {"C1", 2, false}, {"C1E", 10, false}, {"C3", 40, false}, {"C6", 133, false}}},
	}
	for core := range 20 {
		m.threads = append(m.threads, []int{core, 20 + core})
	}
	return m.inventory()
}

// laptop is a notebook with an i7-1165G7, with an unprivileged user.
func laptop() *Inventory {
	m := machine{
		source: "constructed, not read: Intel's data sheet of the Core i7-1165G7 (4 cores, 8 threads, caches, frequencies), with 16 GB, an AX201 wireless interface and Debian 12's defaults with GNOME; interrupts as such a machine spreads them; " +
			"the kernel numbers the second threads 4 to 7",
		hostname:     "laptop",
		kernel:       Kernel{Release: "6.1.0-32-amd64", Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.129-1 (2025-03-06)", Machine: "x86_64", Preemption: "voluntary", CommandLine: "quiet", Image: "/boot/vmlinuz-6.1.0-32-amd64"},
		distribution: Distribution{ID: "debian", Version: "12", Name: "Debian GNU/Linux 12 (bookworm)"},
		model:        "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz",
		numaOf:       func(int) int { return 0 },
		packageOf:    func(int) int { return 0 },
		l3:           func(int) int { return 0 },
		l1dKiB:       48, l1iKiB: 32, l2KiB: 1280, l3KiB: 12288, minMHz: 400, maxMHz: 4700, governor: "powersave",
		smt: "on", memoryPerNode: 16 << 30, distances: [][]int{{10}},
		nics: []NIC{
			{Name: "lo", NUMANode: -1, MAC: "00:00:00:00:00:00", MTU: 65536, State: "unknown", Queues: 1, Virtual: true},
			{Name: "wlp0s20f3", Driver: "iwlwifi", PCIAddress: "0000:00:14.3", NUMANode: -1, MAC: "f4:a4:75:00:00:00", MTU: 1500, State: "up", Queues: 1, Wireless: true, Interrupts: []string{"160"}, SleepsL1: true},
		},
		cgroup: cgroupV2, privileges: Privileges{Capabilities: []string{}},
		flags: []string{"avx2", "avx512f", "constant_tsc", "ht", "nonstop_tsc", "pdpe1gb", "rdtscp", "vmx"},
		idle:  CPUIdle{Driver: "intel_idle", Governor: "menu", States: []IdleState{{"POLL", 0, false}, {"C1_ACPI", 1, false}, {"C2_ACPI", 253, false}, {"C3_ACPI", 1048, false}}},
		noise: noise{
			config: debianConfig("HZ=250", "PREEMPT_VOLUNTARY=y", "PREEMPT_DYNAMIC=y"),
			settings: debianSettings("0-7", "ff", map[string]string{
				"/sys/devices/system/cpu/intel_pstate/status":         "active",
				"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate",
			}),
			interrupts: []Interrupt{
				{ID: "124", Name: "xhci_hcd", Counts: map[int]int64{3: 91822}, Affinity: "0-7", Effective: "3"},
				{ID: "135", Name: "nvme0q5", Counts: map[int]int64{4: 10711}, Affinity: "4", Effective: "4"},
				{ID: "156", Name: "i915", Counts: map[int]int64{6: 2210713}, Affinity: "0-7", Effective: "6"},
				{ID: "160", Name: "iwlwifi:queue_2", Counts: map[int]int64{2: 1201233}, Affinity: "2", Effective: "2"},
			},
			local:            []Interrupt{{ID: "TRM", Name: "Thermal event interrupts", Counts: map[int]int64{0: 12, 1: 12, 2: 12, 3: 12}}},
			services:         []string{"power-profiles-", "thermald"},
			swapBytes:        976 << 20,
			energyPreference: "balance_performance",
			mitigations: []Mitigation{
				{"gather_data_sampling", "Mitigation: Microcode"},
				{"meltdown", "Not affected"},
				{"spectre_v2", "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling; PBRSB-eIBRS: SW sequence; BHI: SW loop, KVM: SW loop"},
			},
		},
	}
	for core := range 4 {
		m.threads = append(m.threads, []int{core, 4 + core})
	}
	return m.inventory()
}

// cloudVM is a small rented virtual machine.
func cloudVM() *Inventory {
	m := machine{
		source: "constructed, not read: Amazon's description of the c6i.xlarge (4 virtual CPUs of 2 cores of a Xeon Platinum 8375C, 8 GiB, Nitro) and Ubuntu 24.04's defaults there; " +
			"counts of interrupts and stolen time are made up",
		hostname: "ip-198-51-100-7",
		kernel: Kernel{Release: "6.8.0-1021-aws", Version: "#23-Ubuntu SMP", Machine: "x86_64", Preemption: "voluntary",
			CommandLine: "nvme_core.io_timeout=4294967295 panic=-1", Image: "/boot/vmlinuz-6.8.0-1021-aws"},
		distribution: Distribution{ID: "ubuntu", Version: "24.04", Name: "Ubuntu 24.04.1 LTS"},
		model:        "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
		numaOf:       func(int) int { return 0 },
		packageOf:    func(int) int { return 0 },
		l3:           func(int) int { return 0 },
		l1dKiB:       48, l1iKiB: 32, l2KiB: 1280, l3KiB: 55296,
		smt: "on", memoryPerNode: 8 << 30, distances: [][]int{{10}},
		nics: []NIC{
			{Name: "ens5", Driver: "ena", PCIAddress: "0000:00:05.0", NUMANode: -1, MAC: "02:5e:c0:00:00:00", MTU: 9001, State: "up", Queues: 4,
				Interrupts: []string{"31", "32", "33", "34", "35"}, Coalescing: &ethtool.Coalescing{RxUS: 20, TxUS: 64, Adaptive: true}},
			{Name: "lo", NUMANode: -1, MAC: "00:00:00:00:00:00", MTU: 65536, State: "unknown", Queues: 1, Virtual: true},
		},
		cgroup: cgroupV2, privileges: rootPrivileges(), flags: []string{"avx2", "avx512f", "constant_tsc", "ht", "hypervisor", "nonstop_tsc", "pdpe1gb", "rdtscp", "tsc_known_freq"}, lxc: "",
		noise: noise{
			config: debianConfig("HZ=250", "PREEMPT_VOLUNTARY=y", "PREEMPT_DYNAMIC=y"),
			settings: debianSettings("0-3", "f", map[string]string{
				"/proc/sys/kernel/nmi_watchdog":               "0", // the virtual machine has no counters
				"/sys/kernel/mm/transparent_hugepage/enabled": "madvise",
			}),
			interrupts: []Interrupt{
				{ID: "27", Name: "nvme0q1", Counts: map[int]int64{0: 51288}, Affinity: "0-1", Effective: "0"},
				{ID: "28", Name: "nvme0q2", Counts: map[int]int64{2: 49102}, Affinity: "2-3", Effective: "2"},
				{ID: "31", Name: "ena-mgmnt@pci:0000:00:05.0", Counts: map[int]int64{0: 88}, Affinity: "0-3", Effective: "0"},
				{ID: "32", Name: "ens5-Tx-Rx-0", Counts: map[int]int64{0: 901233}, Affinity: "0-3", Effective: "0"},
				{ID: "33", Name: "ens5-Tx-Rx-1", Counts: map[int]int64{1: 877012}, Affinity: "0-3", Effective: "1"},
				{ID: "34", Name: "ens5-Tx-Rx-2", Counts: map[int]int64{2: 914450}, Affinity: "0-3", Effective: "2"},
				{ID: "35", Name: "ens5-Tx-Rx-3", Counts: map[int]int64{3: 899871}, Affinity: "0-3", Effective: "3"},
			},
			usage: []CPUUsage{
				{CPU: 0, Total: 8640000, Idle: 7700000, SoftIRQ: 20100, Steal: 10390}, {CPU: 1, Total: 8640000, Idle: 7810000, SoftIRQ: 18800, Steal: 9902},
				{CPU: 2, Total: 8640000, Idle: 7795000, SoftIRQ: 19010, Steal: 11208}, {CPU: 3, Total: 8640000, Idle: 7822000, SoftIRQ: 18700, Steal: 9711},
			},
			services:   []string{"irqbalance"},
			hypervisor: "amazon",
			clock:      "kvm-clock", clocks: []string{"kvm-clock", "tsc", "acpi_pm"},
			mitigations: []Mitigation{
				{"gather_data_sampling", "Unknown: Dependent on hypervisor status"},
				{"mmio_stale_data", "Mitigation: Clear CPU buffers; SMT Host state unknown"},
				{"spectre_v2", "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling; PBRSB-eIBRS: SW sequence; BHI: SW loop, KVM: SW loop"},
			},
		},
	}
	for core := range 2 {
		m.threads = append(m.threads, []int{core, 2 + core})
	}
	return m.inventory()
}

// realTime is a server that an expert has tuned for real-time work.
func realTime() *Inventory {
	allowed := 1
	var isolated []int
	for id := 2; id < 18; id++ {
		isolated = append(isolated, id)
	}
	m := machine{
		source: "constructed, not read: Intel's data sheet of the Xeon Gold 6354 (18 cores, caches, frequencies), Debian 13's real-time kernel, and what tuned's profile realtime and the kernel's " +
			"Documentation/admin-guide/kernel-per-CPU-kthreads.rst say should be set, for CPUs 2 to 17; names and PCI addresses are made up",
		hostname: "rt",
		kernel: Kernel{Release: "6.12.41+deb13-rt-amd64", Version: "#1 SMP PREEMPT_RT Debian 6.12.41-1 (2025-08-12)", Machine: "x86_64", Preemption: "rt", RealTime: true,
			Image: "/boot/vmlinuz-6.12.41+deb13-rt-amd64",
			CommandLine: "isolcpus=managed_irq,domain,2-17 nohz_full=2-17 rcu_nocbs=2-17 rcu_nocb_poll irqaffinity=0-1 skew_tick=1 tsc=reliable nosmt nosoftlockup nmi_watchdog=0 mce=ignore_ce audit=0 " +
				"intel_pstate=disable intel_idle.max_cstate=1 transparent_hugepage=never default_hugepagesz=1G hugepagesz=1G hugepages=16 intel_iommu=on iommu=pt pcie_aspm=off"},
		distribution: Distribution{ID: "debian", Version: "13", Name: "Debian GNU/Linux 13 (trixie)"},
		model:        "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz",
		numaOf:       func(int) int { return 0 },
		packageOf:    func(int) int { return 0 },
		l3:           func(int) int { return 0 },
		l1dKiB:       48, l1iKiB: 32, l2KiB: 1280, l3KiB: 39936, minMHz: 800, maxMHz: 3600, governor: "performance",
		isolated: isolated, nohz: isolated, smt: "forceoff", memoryPerNode: 64 << 30, distances: [][]int{{10}},
		nics:   []NIC{serverNIC("enp59s0f0", "0000:3b:00.0", 0), serverNIC("enp59s0f1", "0000:3b:00.1", 0)},
		cgroup: cgroupV2, privileges: rootPrivileges(), flags: []string{"avx2", "avx512f", "cat_l3", "constant_tsc", "ht", "nonstop_tsc", "pdpe1gb", "rdtscp", "vmx"}, lxc: "6.0.4",
		idle: CPUIdle{Driver: "intel_idle", Governor: "menu", States: []IdleState{{"POLL", 0, false}, {"C1", 1, false}}},
		noise: noise{
			config: debianConfig("HZ=250", "PREEMPT_RT=y"),
			settings: debianSettings("0-1", "3ffff", map[string]string{
				"/proc/sys/kernel/sched_rt_runtime_us": "-1", "/proc/sys/kernel/nmi_watchdog": "0", "/proc/sys/kernel/soft_watchdog": "0", "/proc/sys/kernel/watchdog": "0",
				"/proc/sys/vm/stat_interval": "10", "/proc/sys/vm/swappiness": "10", "/proc/irq/default_smp_affinity": "3",
				"/sys/kernel/mm/transparent_hugepage/enabled":              "never",
				"/sys/devices/system/machinecheck/machinecheck0/ignore_ce": "1",
				"/sys/devices/virtual/workqueue/cpumask":                   "3",
				"/sys/module/pcie_aspm/parameters/policy":                  "performance",
				"/sys/devices/system/cpu/smt/active":                       "0",
				"/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver":      "acpi-cpufreq",
				"/sys/kernel/tracing/current_tracer":                       "nop",
			}),
			interrupts: []Interrupt{
				{ID: "66", Name: "nvme0q1", Counts: map[int]int64{0: 220911}, Affinity: "0", Effective: "0"},
				{ID: "90", Name: "i40e-enp59s0f0-TxRx-0", Counts: map[int]int64{1: 7012}, Affinity: "0-1", Effective: "1"},
			},
			services:      []string{"tuned"},
			wakeLatencyUS: &allowed,
			mitigations: []Mitigation{
				{"mmio_stale_data", "Mitigation: Clear CPU buffers; SMT disabled"},
				{"spectre_v2", "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: SW loop, KVM: SW loop"},
			},
			hugepages: [2]int64{0, 16},
		},
	}
	for id := range 18 {
		m.noise.settings[fmt.Sprintf("/sys/kernel/debug/sched/fair_server/cpu%d/runtime", id)] = "50000000"
	}
	for i := range m.nics {
		m.nics[i].Coalescing = &ethtool.Coalescing{}
	}
	m.nics[0].Interrupts = []string{"90"}
	for core := range 18 {
		m.threads = append(m.threads, []int{core, 18 + core})
		m.offline = append(m.offline, 18+core)
	}
	return m.inventory()
}

// debianConfig returns the options of Debian's and Ubuntu's kernels that matter, plus those
// in which kernels differ.
func debianConfig(differ ...string) map[string]string {
	config := map[string]string{}
	for _, option := range []string{"CPUSETS", "CPU_FREQ", "CPU_IDLE", "CPU_ISOLATION", "HARDLOCKUP_DETECTOR", "HIGH_RES_TIMERS", "KSM",
		"NO_HZ_FULL", "NUMA_BALANCING", "RCU_NOCB_CPU", "TRANSPARENT_HUGEPAGE", "X86_MCE"} {
		config[option] = "y"
	}
	for _, option := range differ {
		name, value, _ := strings.Cut(option, "=")
		config[name] = value
	}
	return config
}

// debianSettings are the kernel's defaults, for CPUs given as a list and as a mask, plus
// the settings that the machine changes.
func debianSettings(cpus, mask string, changed map[string]string) map[string]string {
	settings := map[string]string{
		"/proc/sys/kernel/sched_rt_runtime_us": "950000", "/proc/sys/kernel/sched_rt_period_us": "1000000", "/proc/sys/kernel/timer_migration": "1",
		"/proc/sys/kernel/nmi_watchdog": "1", "/proc/sys/kernel/soft_watchdog": "1", "/proc/sys/kernel/watchdog": "1",
		"/proc/sys/kernel/watchdog_thresh": "10", "/proc/sys/kernel/watchdog_cpumask": cpus, "/proc/sys/kernel/numa_balancing": "0",
		"/proc/sys/vm/stat_interval": "1", "/proc/sys/vm/swappiness": "60", "/proc/sys/vm/compaction_proactiveness": "20",
		"/proc/sys/net/core/busy_poll": "0", "/proc/sys/net/core/busy_read": "0", "/proc/irq/default_smp_affinity": mask,
		"/sys/kernel/mm/transparent_hugepage/enabled": "always", "/sys/kernel/mm/transparent_hugepage/defrag": "madvise", "/sys/kernel/mm/ksm/run": "0",
		"/sys/devices/virtual/workqueue/cpumask": mask, "/sys/devices/virtual/workqueue/writeback/cpumask": mask,
		"/sys/devices/system/machinecheck/machinecheck0/check_interval": "300", "/sys/devices/system/machinecheck/machinecheck0/ignore_ce": "0",
		"/sys/module/pcie_aspm/parameters/policy": "default", "/sys/devices/system/cpu/smt/active": "1",
	}
	maps.Copy(settings, changed)
	return settings
}

// constructed are the machines of testdata/hosts by file name.
var constructed = map[string]func() *Inventory{
	"epyc-7551p":       epyc7551P,
	"xeon-e5-2640v4":   xeonE52640,
	"laptop-i7-1165g7": laptop,
	"cloud-c6i-xlarge": cloudVM,
	"rt-xeon-6354":     realTime,
}

func hostFile(name string) string { return fmt.Sprintf("testdata/hosts/%s.json", name) }
