package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/ethtool"
)

// cause causes a finding on a well-tuned host, and removes it from any host.
type cause struct {
	make, remove func(*host.Inventory)
	// with are other findings that always appear together with it.
	with []string
	// asks changes the scope of the host that has the cause.
	asks func(*Scope)
}

// scope is what the host is judged for with this cause.
func (c cause) scope() Scope {
	s := scope()
	if c.asks != nil {
		c.asks(&s)
	}
	return s
}

// causes has an entry for each kind of finding.
var causes = map[string]cause{
	"hypervisor": {
		make:   func(inv *host.Inventory) { inv.Virtualisation.Hypervisor = "kvm" },
		remove: func(inv *host.Inventory) { inv.Virtualisation.Hypervisor = "" },
		with:   []string{"halt-exits"},
	},
	"halt-exits": {
		make: func(inv *host.Inventory) {
			inv.Virtualisation.Hypervisor, inv.Settings["/sys/module/haltpoll/parameters/guest_halt_poll_ns"] = "kvm", "0"
		},
		remove: func(inv *host.Inventory) { inv.Kernel.CommandLine += " idle=poll" },
		with:   []string{"hypervisor"},
	},
	"container": {
		make:   func(inv *host.Inventory) { inv.Virtualisation.Container = "docker" },
		remove: func(inv *host.Inventory) { inv.Virtualisation.Container = "" },
	},
	"idle-states": {
		make: func(inv *host.Inventory) {
			inv.WakeLatencyUS = nil
			each(inv, func(c *host.CPU) { c.IdleState, c.IdleExitUS = "C6", 133 })
		},
		remove: func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.IdleState, c.IdleExitUS = "C1", 1 }) },
	},
	"governor": {
		make:   func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.Governor = "schedutil" }) },
		remove: func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.Governor = "performance" }) },
	},
	"heat": {
		make: func(inv *host.Inventory) {
			inv.LocalInterrupts = []host.Interrupt{{ID: "TRM", Counts: map[int]int64{3: 7}}}
		},
		remove: func(inv *host.Inventory) { inv.LocalInterrupts = nil },
	},
	"tsc": {
		make:   func(inv *host.Inventory) { inv.Clock.NonstopTSC = false },
		remove: func(inv *host.Inventory) { inv.Clock.NonstopTSC, inv.Clock.ConstantTSC = true, true },
	},
	"clocksource": {
		make:   func(inv *host.Inventory) { inv.Clock.Source = "hpet" },
		remove: func(inv *host.Inventory) { inv.Clock.Source = "tsc" },
	},
	"timer-tick": {
		make:   func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.NoHzFull = false }) },
		remove: func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.NoHzFull = true }) },
	},
	"rcu-callbacks": {
		make: func(inv *host.Inventory) {
			each(inv, func(c *host.CPU) { c.NoHzFull = false })
			inv.Kernel.CommandLine = strings.ReplaceAll(inv.Kernel.CommandLine, "rcu_nocbs=2-17", "")
		},
		remove: func(inv *host.Inventory) { inv.Kernel.CommandLine += " rcu_nocbs=all" },
		with:   []string{"timer-tick"},
	},
	"vmstat": {
		make: func(inv *host.Inventory) {
			inv.Kernel.Release, inv.Settings["/proc/sys/vm/stat_interval"] = "6.1.0", "1"
		},
		remove: setting("/proc/sys/vm/stat_interval", "10"),
		// Before 6.12 there is no fair server, and throttling is off here.
	},
	"sched-ext": {
		make:   setting("/sys/kernel/sched_ext/state", "enabled"),
		remove: setting("/sys/kernel/sched_ext/state", "disabled"),
	},
	"preemption": {
		make:   func(inv *host.Inventory) { inv.Kernel.RealTime, inv.Kernel.Preemption = false, "voluntary" },
		remove: func(inv *host.Inventory) { inv.Kernel.RealTime, inv.Kernel.Preemption = true, "rt" },
	},
	"rt-throttling": {
		make: setting("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000"),
		remove: func(inv *host.Inventory) {
			each(inv, func(c *host.CPU) { inv.Settings[fairServer(c.ID)] = "0" })
			inv.Settings["/proc/sys/kernel/sched_rt_runtime_us"] = "-1"
		},
	},
	"rt-group-sched": {
		make:   func(inv *host.Inventory) { inv.Config["RT_GROUP_SCHED"] = "y" },
		remove: func(inv *host.Inventory) { delete(inv.Config, "RT_GROUP_SCHED") },
	},
	"transparent-hugepages": {
		make:   func(inv *host.Inventory) { inv.TransparentHugepages = "always" },
		remove: func(inv *host.Inventory) { inv.TransparentHugepages = "madvise" },
	},
	"ksm": {make: setting("/sys/kernel/mm/ksm/run", "1"), remove: setting("/sys/kernel/mm/ksm/run", "0")},
	"numa-balancing": {
		make: func(inv *host.Inventory) {
			inv.Settings["/proc/sys/kernel/numa_balancing"] = "1"
			inv.NUMANodes = append(inv.NUMANodes, host.NUMANode{ID: 1})
		},
		remove: setting("/proc/sys/kernel/numa_balancing", "0"),
	},
	"swap": {
		make:   func(inv *host.Inventory) { inv.SwapBytes = 1 << 30 },
		remove: func(inv *host.Inventory) { inv.SwapBytes = 0 },
	},
	"hugepages": {
		make:   func(inv *host.Inventory) { inv.Hugepages = []host.Hugepages{{SizeBytes: 2 << 20}} },
		remove: func(inv *host.Inventory) { inv.Hugepages = []host.Hugepages{{SizeBytes: 2 << 20, Total: 64}} },
	},
	"interrupts": {
		make: func(inv *host.Inventory) {
			inv.Interrupts = append(inv.Interrupts, host.Interrupt{ID: "71", Name: "ahci", Counts: map[int]int64{4: 9}, Affinity: "0-17", Effective: "4"})
		},
		remove: func(inv *host.Inventory) {
			for i := range inv.Interrupts {
				inv.Interrupts[i].Affinity, inv.Interrupts[i].Effective = "0", "0"
			}
		},
	},
	"irqbalance": {
		make: func(inv *host.Inventory) {
			inv.Services = []string{"irqbalance"}
			each(inv, func(c *host.CPU) { c.NoHzFull, c.Isolated = c.NoHzFull && c.ID != 5, c.Isolated && c.ID != 5 })
		},
		remove: func(inv *host.Inventory) { inv.Services = nil },
		with:   []string{"not-isolated", "timer-tick"},
	},
	"workqueues": {
		make:   setting("/sys/devices/virtual/workqueue/cpumask", "3ffff"),
		remove: setting("/sys/devices/virtual/workqueue/cpumask", "1"),
	},
	"cpus": {
		make:   func(inv *host.Inventory) { inv.AllowedCPUs = []int{2} },
		remove: func(inv *host.Inventory) { inv.AllowedCPUs = []int{2, 3} },
	},
	"shared-cpus": {
		make:   func(*host.Inventory) {},
		remove: func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.Online = c.ID > 5 }) },
		asks:   func(s *Scope) { s.Housekeeping = []int{4, 5} },
	},
	"smt-siblings": {
		make: func(inv *host.Inventory) {
			inv.CPUs[2].Siblings, inv.CPUs[20].Siblings, inv.CPUs[20].Online = []int{2, 20}, []int{2, 20}, true
		},
		remove: func(inv *host.Inventory) {
			each(inv, func(c *host.CPU) { c.Siblings = []int{c.ID} })
		},
	},
	"nic-far": {
		make: func(inv *host.Inventory) {
			inv.NUMANodes = append(inv.NUMANodes, host.NUMANode{ID: 1})
			for i := range inv.NICs {
				inv.NICs[i].NUMANode = 1
			}
		},
		remove: nearNICs,
	},
	"nics-apart": {
		make: func(inv *host.Inventory) {
			inv.NUMANodes = append(inv.NUMANodes, host.NUMANode{ID: 1})
			inv.NICs[1].NUMANode = 1
		},
		remove: nearNICs,
		with:   []string{"nic-far"},
	},
	"coalescing": {
		make: func(inv *host.Inventory) { inv.NICs[0].Coalescing = &ethtool.Coalescing{RxUS: 50} },
		remove: func(inv *host.Inventory) {
			for i := range inv.NICs {
				inv.NICs[i].Coalescing = nil
			}
		},
	},
	"pcie-aspm": {
		make: func(inv *host.Inventory) {
			inv.Settings["/sys/module/pcie_aspm/parameters/policy"], inv.NICs[0].SleepsL1 = "default", true
		},
		remove: setting("/sys/module/pcie_aspm/parameters/policy", "performance"),
	},
	"not-isolated": {
		make:   func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.Isolated = false }) },
		remove: func(inv *host.Inventory) { each(inv, func(c *host.CPU) { c.Isolated = true }) },
	},
	"no-cpuset": {
		make:   func(inv *host.Inventory) { inv.Cgroup = host.Cgroup{Mode: host.CgroupNone} },
		remove: cgroup2,
	},
	"cpuset-v1": {
		make: func(inv *host.Inventory) {
			inv.Cgroup = host.Cgroup{Mode: host.CgroupV1, Mounts: []host.CgroupMount{{Path: "/cg/cpuset", Version: 1, Controllers: []string{"cpuset"}}}}
		},
		remove: cgroup2,
	},
	"cset": {
		make: func(inv *host.Inventory) {
			inv.Cgroup = host.Cgroup{Mode: host.CgroupV1, Mounts: []host.CgroupMount{{Path: "/cg/cpuset", Version: 1, Controllers: []string{"cpuset"}}}}
			inv.Settings["/cg/cpuset/user/cpuset.cpu_exclusive"] = "1"
		},
		remove: setting("/cg/cpuset/user/cpuset.cpu_exclusive", "0"),
		with:   []string{"cpuset-v1"},
	},
	"no-isolated-partitions": {
		make:   func(inv *host.Inventory) { inv.Kernel.Release = "5.10.0" },
		remove: func(inv *host.Inventory) { inv.Kernel.Release = "6.12.0" },
	},
	"isolcpus": {
		make:   func(inv *host.Inventory) { inv.Kernel.CommandLine += " isolcpus=domain,2-17" },
		remove: func(inv *host.Inventory) { inv.Kernel.CommandLine += " isolcpus=managed_irq,2-17" },
	},
	"watchdogs": {
		make: func(inv *host.Inventory) {
			inv.Settings["/proc/sys/kernel/watchdog"], inv.Settings["/proc/sys/kernel/soft_watchdog"], inv.Settings["/proc/sys/kernel/watchdog_cpumask"] = "1", "1", "0-17"
		},
		remove: setting("/proc/sys/kernel/watchdog", "0"),
	},
	"machine-checks": {
		make:   setting("/sys/devices/system/machinecheck/machinecheck0/ignore_ce", "0"),
		remove: setting("/sys/devices/system/machinecheck/machinecheck0/ignore_ce", "1"),
	},
	"mitigations": {
		make: func(inv *host.Inventory) {
			inv.Mitigations = []host.Mitigation{{Name: "meltdown", Status: "Mitigation: PTI"}}
		},
		remove: func(inv *host.Inventory) { inv.Mitigations = nil },
	},
	"debug-kernel": {
		make:   func(inv *host.Inventory) { inv.Config["KASAN"] = "y" },
		remove: func(inv *host.Inventory) { delete(inv.Config, "KASAN") },
	},
	"tracer": {
		make:   setting("/sys/kernel/tracing/current_tracer", "function"),
		remove: setting("/sys/kernel/tracing/current_tracer", "nop"),
	},
	"parameters-without-effect": {
		make:   func(inv *host.Inventory) { inv.Kernel.CommandLine += " amd_iommu=off" },
		remove: func(inv *host.Inventory) { inv.Kernel.CommandLine = "" },
	},
	"audit": {
		make: func(inv *host.Inventory) {
			inv.Services, inv.Kernel.CommandLine = []string{"auditd"}, strings.ReplaceAll(inv.Kernel.CommandLine, "audit=0", "")
		},
		remove: func(inv *host.Inventory) { inv.Kernel.CommandLine += " audit=0" },
	},
	"tuned":          {make: service("tuned"), remove: service()},
	"power-daemons":  {make: service("thermald"), remove: service()},
	"memory-daemons": {make: service("numad"), remove: service()},
	"kubelet":        {make: service("kubelet"), remove: service()},
	"kubelet-policies": {
		make: func(inv *host.Inventory) {
			inv.Services = []string{"kubelet"}
			inv.Kubelet = &host.Kubelet{CPUManager: "static", TopologyManager: "best-effort", MemoryManager: "Static", ReservedCPUs: scope().CPUs}
			inv.NUMANodes = append(inv.NUMANodes, host.NUMANode{ID: 1})
		},
		remove: func(inv *host.Inventory) { inv.Kubelet.TopologyManager = "single-numa-node" },
	},
}

func each(inv *host.Inventory, change func(*host.CPU)) {
	for i := range inv.CPUs {
		change(&inv.CPUs[i])
	}
}

func setting(path, value string) func(*host.Inventory) {
	return func(inv *host.Inventory) { inv.Settings[path] = value }
}

func service(names ...string) func(*host.Inventory) {
	return func(inv *host.Inventory) { inv.Services = names }
}

func nearNICs(inv *host.Inventory) {
	for i := range inv.NICs {
		inv.NICs[i].NUMANode = 0
	}
}

func cgroup2(inv *host.Inventory) {
	inv.Cgroup = host.Cgroup{Mode: host.CgroupV2, Mounts: []host.CgroupMount{{Path: "/sys/fs/cgroup", Version: 2, Controllers: []string{"cpuset"}}}}
}

// kind is the name of a finding's kind: its ID without the name of its card, or of what an experiment needs.
func kind(id string) string {
	for _, of := range findingKinds() {
		if stem := named(of); of.id != stem && strings.HasPrefix(id, stem+"-") {
			return stem
		}
	}
	return id
}

// named is the ID of a kind of finding without what stands for another name.
func named(of findingKind) string {
	return strings.TrimSuffix(strings.TrimSuffix(of.id, "-NIC"), "-…")
}

func kinds(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		list = append(list, kind(f.ID))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// perfect is the well-tuned host without the notes that it still has.
func perfect(t *testing.T) *host.Inventory {
	inv := load(t, "rt-xeon-6354")
	inv.Mitigations, inv.Services = nil, nil
	each(inv, func(c *host.CPU) {
		if c.ID > 0 {
			inv.Settings[fairServer(c.ID)] = "0"
		}
	})
	inv.Kernel.CommandLine = strings.ReplaceAll(inv.Kernel.CommandLine, "isolcpus=managed_irq,domain,2-17 ", "")
	return inv
}

// scope is the well-tuned host's, also where a test removes what Default would find it by.
func scope() Scope {
	s := Scope{Sleeps: true, Housekeeping: []int{0, 1}}
	for id := 2; id < 18; id++ {
		s.CPUs = append(s.CPUs, id)
	}
	return s
}

// TestCauses: on a host without findings, adding a cause adds only its own finding, and
// removing the cause removes the finding.
func TestCauses(t *testing.T) {
	if left := kinds(Examine(perfect(t), scope())); len(left) > 0 {
		t.Fatalf("the perfect host has %q", left)
	}
	for _, s := range subjects {
		for _, of := range s.kinds {
			if _, has := causes[named(of)]; !has {
				t.Errorf("no cause of %s is tested", of.id)
			}
		}
	}
	for id, cause := range causes {
		inv := perfect(t)
		cause.make(inv)
		want := append([]string{id}, cause.with...)
		slices.Sort(want)
		s := cause.scope()
		if got := kinds(Examine(inv, s)); !slices.Equal(got, want) {
			t.Errorf("%s: its cause brings about %q, want %q", id, got, want)
			continue
		}
		cause.remove(inv)
		if got := kinds(Examine(inv, s)); slices.Contains(got, id) {
			t.Errorf("%s: still there without its cause", id)
		}
	}
}

// all visits all findings of all hosts, and of hosts with one cause each.
func all(t *testing.T, see func(name string, inv *host.Inventory, s Scope, f Finding)) {
	t.Helper()
	for _, name := range append(slices.Clone(hosts), "xeon-e5-2640v4") {
		inv := load(t, name)
		s := Default(inv)
		for _, f := range Examine(inv, s) {
			see(name, inv, s, f)
		}
	}
	for id, cause := range causes {
		inv := perfect(t)
		cause.make(inv)
		s := cause.scope()
		for _, f := range Examine(inv, s) {
			see("with "+id, inv, s, f)
		}
	}
}

// TestFindingsAreWhole: each finding has evidence, a reason, a remedy and a source, and
// each cost has a basis; on any host, removing the cause removes the finding.
func TestFindingsAreWhole(t *testing.T) {
	all(t, func(name string, inv *host.Inventory, s Scope, f Finding) {
		lacks := func(what string, lacking bool) {
			if lacking {
				t.Errorf("%s: %s has no %s: %+v", name, f.ID, what, f)
			}
		}
		lacks("subject that describes its kind", !slices.ContainsFunc(subjects, func(s subject) bool {
			return s.name == f.Subject && slices.ContainsFunc(s.kinds, func(of findingKind) bool { return named(of) == kind(f.ID) })
		}))
		lacks("title of one line", f.Title == "" || strings.Contains(f.Title, "\n"))
		lacks("evidence", len(f.Evidence) == 0 || slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Where == "" || e.What == "" }))
		lacks("reason", f.Why == "")
		lacks("remedy", len(f.Remedies) == 0 || slices.ContainsFunc(f.Remedies, func(r Remedy) bool { return r.Text == "" }))
		lacks("source", f.Source == "")
		if c := f.Cost; c != nil {
			lacks("sound cost", c.ToUS <= 0 || c.FromUS < 0 || c.FromUS > c.ToUS || c.When == "" || c.Source == "" || c.Basis == "")
			lacks("severity after its cost", f.Severity == host.SeverityError)
		}
		cause, known := causes[kind(f.ID)]
		if !known {
			t.Errorf("%s: the tests know no cause of %s", name, f.ID)
			return
		}
		changed := clone(inv)
		changed.NICs = slices.Clone(inv.NICs)
		if changed.Settings == nil {
			changed.Settings = map[string]string{}
		}
		cause.remove(changed)
		if slices.Contains(kinds(Examine(changed, s)), kind(f.ID)) {
			t.Errorf("%s: %s is still there without its cause", name, f.ID)
		}
	})
}

// TestRemediesWork: a shell runs each remedy that writes files over an empty tree; a host
// with the written files no longer has the finding. The same holds for what nines tune
// apply would set.
func TestRemediesWork(t *testing.T) {
	tried, seen := map[string]bool{}, map[string]bool{}
	all(t, func(name string, inv *host.Inventory, s Scope, f Finding) {
		for _, r := range f.Remedies {
			script := strings.Join(r.Commands, "\n")
			if seen[f.ID+script] {
				continue
			}
			seen[f.ID+script] = true
			var after *host.Inventory
			switch {
			case strings.HasPrefix(script, "nines tune apply") && (f.ID == "interrupts" || f.ID == "workqueues"):
				continue // package isolate moves these settings, and its tests cover them
			case strings.HasPrefix(script, "nines tune apply"):
				words := strings.Fields(script) // nines tune apply --profile NAME --cpus LIST
				cpus, err := cpulist.Parse(words[6])
				if err != nil || words[3] != "--profile" || words[5] != "--cpus" {
					t.Errorf("%s: %s: %q is no call of nines tune: %v", name, f.ID, script, err)
					continue
				}
				profile, _ := tune.BuiltIn(words[4])
				after = Applied(inv, tune.Settings(inv, cpus, profile))
			case strings.Contains(script, " > /") && !strings.Contains(script, "scaling_max_freq") && !strings.Contains(script, "GROUP"),
				strings.HasPrefix(script, "sysctl") && !strings.Contains(script, "nr_hugepages"):
				after = scripted(t, inv, script)
			default:
				continue
			}
			tried[kind(f.ID)] = true
			if slices.Contains(kinds(Examine(after, s)), kind(f.ID)) {
				t.Errorf("%s: %s is still there after\n%s", name, f.ID, script)
			}
		}
	})
	for _, id := range []string{"idle-states", "governor", "vmstat", "transparent-hugepages", "ksm", "numa-balancing", "interrupts", "workqueues", "watchdogs", "smt-siblings", "clocksource", "rt-throttling", "pcie-aspm", "tracer"} {
		if !tried[id] {
			t.Errorf("no remedy of %s was tried", id)
		}
	}
}

// scripted runs a script that writes below its own temporary folder, and puts the files into
// a copy of the inventory.
func scripted(t *testing.T, inv *host.Inventory, script string) *host.Inventory {
	t.Helper()
	root := t.TempDir()
	// The shell creates files, but not their folders.
	prelude := `sysctl() { p=/proc/sys/$(echo "${2%%=*}" | tr . /); mkdir -p "$ROOT${p%/*}"; echo "${2#*=}" > "$ROOT$p"; }
write() { mkdir -p "$ROOT${2%/*}"; echo "$1" > "$ROOT$2"; }
`
	const arrow = " > "
	var lines []string
	for line := range strings.SplitSeq(script, "\n") {
		if before, after, found := strings.Cut(line, arrow+"/"); found {
			at := strings.LastIndex(before, "echo ")
			line = before[:at] + "write " + before[at+len("echo "):] + " /" + after
		}
		lines = append(lines, line)
	}
	shell := exec.Command("bash", "-euc", prelude+strings.Join(lines, "\n"))
	shell.Env = append(os.Environ(), "ROOT="+root)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s: %v", script, out, err)
	}
	after := clone(inv)
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		apply(after, strings.TrimPrefix(path, root), strings.TrimSpace(string(data)))
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%s wrote %d files: %v", script, files, err)
	}
	return after
}

// TestGaps: what was not read is no finding, and is listed as unseen.
func TestGaps(t *testing.T) {
	inv := perfect(t)
	inv.Config, inv.Settings, inv.Interrupts, inv.Usage, inv.Services, inv.WakeLatencyUS = nil, nil, nil, nil, nil, nil
	inv.Privileges = host.Privileges{}
	if found := kinds(Examine(inv, scope())); len(found) > 0 {
		t.Errorf("a host of which little is known has %q", found)
	}
	if gaps := Judge(inv).Unseen; len(gaps) != 5 {
		t.Errorf("unseen are %q", gaps)
	}
}

func TestDefault(t *testing.T) {
	for name, want := range map[string]string{
		"laptop-i7-1165g7": "1-3,5-7 beside 0,4", "epyc-7551p": "8-10,24-26 beside 0-7,11-23,27-31", "microvm": "1 beside 0", "rt-xeon-6354": "2-17 beside 0-1",
	} {
		s := Default(load(t, name))
		if got := fmt.Sprintf("%s beside %s", list(s.CPUs), list(s.Housekeeping)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestMasks(t *testing.T) {
	if got := inMask("80000001,00000008", []int{0, 3, 31, 32, 63, 70}); !slices.Equal(got, []int{3, 32, 63}) {
		t.Errorf("inMask gives %v", got)
	}
	if got := hexMask([]int{0, 1, 33}); got != "2,00000003" {
		t.Errorf("hexMask gives %s", got)
	}
}

func TestMicroseconds(t *testing.T) {
	for us, want := range map[float64]string{0: "0 µs", 0.03: "0.03 µs", 0.1: "0.1 µs", 1.75: "1.8 µs", 8.8: "8.8 µs", 10: "10 µs", 47.3: "47 µs", 133: "130 µs",
		1048: "1 ms", 2800: "2.8 ms", 50000: "50 ms"} {
		if got := microseconds(us); got != want {
			t.Errorf("%g is %s, want %s", us, got, want)
		}
	}
}
