package host

import (
	"fmt"
	"slices"
)

// The machines below were never read: they are put together from what is
// published of them, which each Source names. The files in testdata/hosts are
// written from them by -update.

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
}

func (m machine) inventory() *Inventory {
	inv := &Inventory{
		Schema: Schema, Source: m.source, Hostname: m.hostname, Kernel: m.kernel, Distribution: m.distribution,
		CPUFlags: m.flags, SMT: m.smt, TransparentHugepages: "madvise", NICs: m.nics, Cgroup: m.cgroup,
		Clock:      Clock{Source: "tsc", Available: []string{"tsc", "hpet", "acpi_pm"}, ConstantTSC: true, NonstopTSC: true},
		CPUIdle:    m.idle,
		Privileges: m.privileges,
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
					Isolated: slices.Contains(m.isolated, id), NoHzFull: slices.Contains(m.nohz, id), Model: m.model}
				inv.AllowedCPUs = append(inv.AllowedCPUs, id)
			}
			inv.CPUs = append(inv.CPUs, cpu)
		}
	}
	slices.SortStableFunc(inv.Caches, func(a, b Cache) int { return a.Level - b.Level })
	slices.SortFunc(inv.CPUs, func(a, b CPU) int { return a.ID - b.ID })
	slices.Sort(inv.AllowedCPUs)
	small, large := Hugepages{SizeBytes: 2 << 20}, Hugepages{SizeBytes: 1 << 30}
	for id := range len(nodes) {
		slices.Sort(nodes[id])
		inv.NUMANodes = append(inv.NUMANodes, NUMANode{ID: id, CPUs: nodes[id], MemoryTotalBytes: m.memoryPerNode,
			MemoryFreeBytes: m.memoryPerNode * 9 / 10, Hugepages: []Hugepages{small, large}, Distances: m.distances[id]})
		inv.MemoryBytes += m.memoryPerNode
	}
	inv.Hugepages = []Hugepages{small, large}
	inv.Features = m.features()
	return inv
}

// features are those of a distribution's kernel: what can be a module is one.
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
		source: "constructed, not read: table 6.1, listing 5.13 and section 6.2 of 'Lightweight low-latency virtual networking' (CPU, memory, NICs on NUMA nodes 1 and 3, kernel parameters); " +
			"AMD's data sheet of the EPYC 7551P (caches, frequencies); distances as Naples firmware gives them; names and PCI addresses are made up",
		hostname: "dut",
		kernel: Kernel{Release: "5.10.0-14-amd64", Version: "#1 SMP Debian 5.10.113-1 (2022-04-29)", Machine: "x86_64", Preemption: "voluntary",
			CommandLine: "mce=ignore_ce tsc=reliable idle=poll nohz=on audit=0 amd_iommu=off nosmt apparmor=0 nohz_full=8,9,10,24,25,26 rcu_nocbs=8,9,10,24,25,26 skew_tick=1 irqaffinity=0 intel_pstate=disable nmi_watchdog=0 nosoftlockup rcu_nocb_poll random.trust_cpu=on intel_idle.max_cstate=0"},
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
	}
	for core := range 32 {
		m.threads = append(m.threads, []int{core, 32 + core})
		m.offline = append(m.offline, 32+core)
	}
	return m.inventory()
}

// xeonE52640 is the machine of "On the use of kernel bypass mechanisms for
// high-performance inter-container communications", with SMT on. Dell's firmware
// numbers CPUs round the sockets: node 0 has the even ones.
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

// laptop is a notebook with an i7-1165G7, run by a user who is not root.
func laptop() *Inventory {
	m := machine{
		source: "constructed, not read: Intel's data sheet of the Core i7-1165G7 (4 cores, 8 threads, caches, frequencies), with 16 GB, an AX201 wireless interface and Debian 12's defaults; " +
			"the kernel numbers the second threads 4 to 7",
		hostname:     "laptop",
		kernel:       Kernel{Release: "6.1.0-32-amd64", Version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.129-1 (2025-03-06)", Machine: "x86_64", Preemption: "voluntary", CommandLine: "quiet"},
		distribution: Distribution{ID: "debian", Version: "12", Name: "Debian GNU/Linux 12 (bookworm)"},
		model:        "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz",
		numaOf:       func(int) int { return 0 },
		packageOf:    func(int) int { return 0 },
		l3:           func(int) int { return 0 },
		l1dKiB:       48, l1iKiB: 32, l2KiB: 1280, l3KiB: 12288, minMHz: 400, maxMHz: 4700, governor: "powersave",
		smt: "on", memoryPerNode: 16 << 30, distances: [][]int{{10}},
		nics: []NIC{
			{Name: "lo", NUMANode: -1, MAC: "00:00:00:00:00:00", MTU: 65536, State: "unknown", Queues: 1, Virtual: true},
			{Name: "wlp0s20f3", Driver: "iwlwifi", PCIAddress: "0000:00:14.3", NUMANode: -1, MAC: "f4:a4:75:00:00:00", MTU: 1500, State: "up", Queues: 1, Wireless: true},
		},
		cgroup: cgroupV2, privileges: Privileges{Capabilities: []string{}},
		flags: []string{"avx2", "avx512f", "constant_tsc", "ht", "nonstop_tsc", "pdpe1gb", "rdtscp", "vmx"},
		idle:  CPUIdle{Driver: "intel_idle", Governor: "menu", States: []IdleState{{"POLL", 0, false}, {"C1_ACPI", 1, false}, {"C2_ACPI", 253, false}, {"C3_ACPI", 1048, false}}},
	}
	for core := range 4 {
		m.threads = append(m.threads, []int{core, 4 + core})
	}
	return m.inventory()
}

// constructed are the machines of testdata/hosts by file name.
var constructed = map[string]func() *Inventory{
	"epyc-7551p":       epyc7551P,
	"xeon-e5-2640v4":   xeonE52640,
	"laptop-i7-1165g7": laptop,
}

func hostFile(name string) string { return fmt.Sprintf("testdata/hosts/%s.json", name) }
