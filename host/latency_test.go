package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/kernel/ethtool"
)

// noisy is a recording of what Read reads of interrupts, usage and settings.
func noisy() *Recording {
	return &Recording{
		Files: map[string]string{
			"/proc/cpuinfo": "processor\t: 0\n\nprocessor\t: 2\n",
			"/proc/interrupts": "           CPU0       CPU2\n" +
				"  8:          1          0  IR-IO-APIC    8-edge      rtc0\n" +
				" 36:          0   18889862  PCI-MSIX-0000:00:02.0   1-edge      eth0-TxRx-0\n" +
				"LOC:   32228500   24045604   Local timer interrupts\n" +
				"ERR:          0\n",
			"/proc/irq/36/smp_affinity_list":                        "0-2\n",
			"/proc/irq/36/effective_affinity_list":                  "2\n",
			"/proc/irq/8/smp_affinity_list":                         "0\n",
			"/proc/stat":                                            "cpu  30 0 0 60 10 0 0 3 0 0\ncpu0 10 1 2 30 5 0 0 1 0 0\ncpu2 20 0 3 30 5 4 6 2 7 0\nintr 5 5ecret\nbtime 55555\n",
			"/proc/meminfo":                                         "MemTotal: 16 kB\nSwapTotal: 8 kB\nVmallocUsed: 5 kB\n",
			"/proc/sys/kernel/osrelease":                            "6.1.0\n",
			"/boot/config-6.1.0":                                    "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\nCONFIG_SECRET=5\nCONFIG_PHYSICAL_START=0x1000000\n",
			"/sys/kernel/mm/transparent_hugepage/enabled":           "always [madvise] never\n",
			"/proc/sys/kernel/numa_balancing":                       "1\n",
			wakeLatencyFile:                                         "\x14\x00\x00\x00",
			cpuRoot + "/present":                                    "0,2\n",
			cpuRoot + "/online":                                     "0,2\n",
			cpuRoot + "/cpu2/cpuidle/state0/name":                   "POLL\n",
			cpuRoot + "/cpu2/cpuidle/state1/name":                   "C1\n",
			cpuRoot + "/cpu2/cpuidle/state1/latency":                "2\n",
			cpuRoot + "/cpu2/cpuidle/state2/name":                   "C6\n",
			cpuRoot + "/cpu2/cpuidle/state2/latency":                "133\n",
			cpuRoot + "/cpu2/cpuidle/state2/disable":                "1\n",
			cpuRoot + "/cpu2/cpufreq/energy_performance_preference": "balance_power\n",
			"/sys/bus/pci/devices/0000:00:02.0/link/l1_aspm":        "1\n",
			"/sys/bus/pci/devices/0000:00:02.0/numa_node":           "0\n",
			netRoot + "/eth0/address":                               "3c:fd:fe:5e:c4:e7\n",
		},
		Exist:       map[string]bool{cpuRoot: true},
		Dirs:        map[string][]string{netRoot: {"eth0"}, "/sys/bus/pci/devices/0000:00:02.0/msi_irqs": {"100", "36", "37"}},
		Links:       map[string]string{netRoot + "/eth0": "../../devices/pci0000:00/0000:00:02.0/net/eth0"},
		Services:    []string{"irqbalance", "5ecretd"},
		Coalescings: map[string]ethtool.Coalescing{"eth0": {RxUS: 50, Adaptive: true}},
	}
}

// TestReadNoise: Read finds what disturbs, on a live machine and in its recording, and the
// recording holds nothing else.
func TestReadNoise(t *testing.T) {
	recording, err := recordTree(noisy())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := recording.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"5ecret", "btime", "VmallocUsed", "SECRET", "PHYSICAL_START"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the recording holds %q:\n%s", secret, &b)
		}
	}
	live, err := ReadTree(noisy())
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := Load(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	twenty := 20
	for from, inv := range map[string]*Inventory{"live": live, "replayed": replayed} {
		check := func(what string, got, want any) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", from, what, diff)
			}
		}
		check("interrupts", inv.Interrupts, []Interrupt{
			{ID: "8", Name: "rtc0", Counts: map[int]int64{0: 1}, Affinity: "0"},
			{ID: "36", Name: "eth0-TxRx-0", Counts: map[int]int64{2: 18889862}, Affinity: "0-2", Effective: "2"},
		})
		check("local interrupts", inv.LocalInterrupts,
			[]Interrupt{{ID: "LOC", Name: "Local timer interrupts", Counts: map[int]int64{0: 32228500, 2: 24045604}}})
		check("usage", inv.Usage, []CPUUsage{
			{CPU: 0, Total: 49, Idle: 35, Steal: 1},
			{CPU: 2, Total: 70, Idle: 35, IRQ: 4, SoftIRQ: 6, Steal: 2},
		})
		check("services", inv.Services, []string{"irqbalance"})
		check("swap", inv.SwapBytes, int64(8192))
		check("wake latency", inv.WakeLatencyUS, &twenty)
		check("configuration", inv.Config, map[string]string{"HZ": "1000", "NO_HZ_FULL": "y"})
		check("settings", inv.Settings, map[string]string{
			"/sys/kernel/mm/transparent_hugepage/enabled": "madvise", "/proc/sys/kernel/numa_balancing": "1",
		})
		check("idle state", inv.CPUs[1].IdleState, "C1")
		check("idle exit", inv.CPUs[1].IdleExitUS, 2)
		check("energy preference", inv.CPUs[1].EnergyPreference, "balance_power")
		check("NIC's interrupts", inv.NICs[0].Interrupts, []string{"36", "37", "100"})
		check("coalescing", inv.NICs[0].Coalescing, &ethtool.Coalescing{RxUS: 50, Adaptive: true})
		check("L1", inv.NICs[0].SleepsL1, true)
		if eth0 := inv.Interrupts[1]; !eth0.MayCome(2) || eth0.MayCome(0) || !inv.Interrupts[0].MayCome(0) {
			t.Errorf("%s: interrupts come where they should not, or the other way round", from)
		}
	}
}

// TestNobodyAsksForShortWakeUps: the kernel's default is not a program's request.
func TestNobodyAsksForShortWakeUps(t *testing.T) {
	tree := noisy()
	tree.Files[wakeLatencyFile] = "\x00\x94\x35\x77" // 2,000,000,000
	if us := readWakeLatency(tree); us != nil {
		t.Errorf("the default is read as a request for %d µs", *us)
	}
}

func TestParameter(t *testing.T) {
	k := Kernel{CommandLine: "isolcpus=1-3 quiet isolcpus=managed_irq,domain,2-3"}
	if v, ok := k.Parameter("isolcpus"); v != "managed_irq,domain,2-3" || !ok {
		t.Errorf("isolcpus is %q, %v", v, ok)
	}
	if v, ok := k.Parameter("quiet"); v != "" || !ok {
		t.Errorf("quiet is %q, %v", v, ok)
	}
	if _, ok := k.Parameter("nohz_full"); ok {
		t.Error("nohz_full is given")
	}
}

// TestIsolatedCPUsMayBeUsed: the kernel starts processes outside the CPUs of isolcpus, but
// they may move there, within their cpuset.
func TestIsolatedCPUsMayBeUsed(t *testing.T) {
	for cpuset, want := range map[string][]int{"0-3": {0, 1, 2, 3}, "0-2": {0, 1, 2}, "": {0, 1}} {
		tree := &Recording{
			Files: map[string]string{
				"/proc/cpuinfo":                        "processor\t: 0\n",
				cpuRoot + "/present":                   "0-3\n",
				cpuRoot + "/online":                    "0-3\n",
				cpuRoot + "/isolated":                  "2-3\n",
				"/proc/self/status":                    "Cpus_allowed_list:\t0-1\n",
				"/proc/self/cgroup":                    "0::/user.slice/session\n",
				"/proc/mounts":                         "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
				"/sys/fs/cgroup/cgroup.controllers":    "cpuset cpu\n",
				"/sys/fs/cgroup/cpuset.cpus.effective": "0-7\n",
			},
			Exist: map[string]bool{cpuRoot: true},
		}
		tree.Files["/sys/fs/cgroup/user.slice/cpuset.cpus.effective"] = cpuset + "\n"
		if cpuset == "" {
			delete(tree.Files, "/sys/fs/cgroup/user.slice/cpuset.cpus.effective")
			delete(tree.Files, "/sys/fs/cgroup/cpuset.cpus.effective")
		}
		inv, err := ReadTree(tree)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, inv.AllowedCPUs); diff != "" {
			t.Errorf("with a cpuset of %q (-want +got):\n%s", cpuset, diff)
		}
	}
}
