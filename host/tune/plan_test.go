package tune

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/test/golden"
)

func inventory(t *testing.T, name string) *host.Inventory {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "hosts", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var inv host.Inventory
	if err := json.Unmarshal(text, &inv); err != nil {
		t.Fatal(err)
	}
	return &inv
}

func builtIn(t *testing.T, name string) Profile {
	t.Helper()
	p, ok := BuiltIn(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// The plans for the recorded hosts: the thesis's EPYC, an older Xeon, a laptop and a
// virtual machine.
func TestPlansOfRecordedHosts(t *testing.T) {
	cases := []struct {
		host, profile string
		cpus          []int
		use           Use
	}{
		{"epyc-7551p", Latency, []int{8, 9, 10, 24, 25, 26}, Use{}},
		{"epyc-7551p", Realtime, []int{8, 9, 10, 24, 25, 26}, Use{Cgroup: "v1"}},
		{"xeon-e5-2640v4", Realtime, []int{2, 4, 6}, Use{Cgroup: "v2", DeviceAccess: true}},
		{"laptop-i7-1165g7", Latency, []int{2, 3}, Use{}},
		{"laptop-i7-1165g7", Throughput, nil, Use{}},
		{"microvm", Latency, []int{1}, Use{}},
	}
	for _, c := range cases {
		t.Run(c.host+"/"+c.profile, func(t *testing.T) {
			inv := inventory(t, c.host)
			request := Request{CPUs: c.cpus, Profile: builtIn(t, c.profile), Use: c.use}
			plan := MakePlan(inv, request, Recorded(inv))
			var out bytes.Buffer
			if err := plan.Write(&out); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", c.host+"."+c.profile+".txt"), out.Bytes())
			again := MakePlan(inv, request, Recorded(inv))
			if diff := cmp.Diff(plan, again); diff != "" {
				t.Errorf("a second plan differs:\n%s", diff)
			}
		})
	}
}

// Every line of the catalogue is complete.
func TestEverySettingIsExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range append(Kinds(), BootKinds()...) {
		if a.Name == "" || a.What == "" || a.Cost == "" || a.Source == "" {
			t.Errorf("%q lacks words: %+v", a.Name, a)
		}
		if seen[a.Name] {
			t.Errorf("%q is listed twice", a.Name)
		}
		seen[a.Name] = true
	}
}

func find(t *testing.T, list []Parameter, name string) Parameter {
	t.Helper()
	at := slices.IndexFunc(list, func(p Parameter) bool { return p.Name == name })
	if at < 0 {
		t.Fatalf("no %s among %v", name, list)
	}
	return list[at]
}

func settingOf(t *testing.T, list []Setting, name string) Setting {
	t.Helper()
	at := slices.IndexFunc(list, func(s Setting) bool { return s.Name == name })
	if at < 0 {
		t.Fatalf("no %s among the settings", name)
	}
	return list[at]
}

// What is in force on the thesis's host is recognised, although its lists of CPUs are
// written differently.
func TestTheThesisCommandLineIsInForceOnItsHost(t *testing.T) {
	inv := inventory(t, "epyc-7551p")
	parameters := BootParameters(inv, []int{8, 9, 10, 24, 25, 26}, builtIn(t, Realtime), Use{})
	for _, name := range []string{"nohz_full", "rcu_nocbs", "rcu_nocb_poll", "nosmt", "skew_tick", "tsc", "audit", "nmi_watchdog", "nosoftlockup", "mce"} {
		if p := find(t, parameters, name); !p.InForce || p.Absent != "" {
			t.Errorf("%s is not in force: %+v", name, p)
		}
	}
	// One CPU for all interrupts is the thesis's choice; all remaining CPUs are ours.
	if p := find(t, parameters, "irqaffinity"); p.InForce || p.Now != "irqaffinity=0" {
		t.Errorf("irqaffinity: %+v", p)
	}
}

// The catalogue knows the other parameters of the thesis's listing 5.13.
func TestEveryParameterOfTheThesisIsKnown(t *testing.T) {
	known := map[string]bool{"console": true} // does not affect latency
	for _, a := range BootKinds() {
		known[a.Name] = true
	}
	for _, word := range strings.Fields(inventory(t, "epyc-7551p").Kernel.CommandLine) {
		name, _, _ := strings.Cut(word, "=")
		if !known[name] {
			t.Errorf("the catalogue does not know %s", name)
		}
	}
}

func TestTimersStayOffNoHzFullCPUs(t *testing.T) {
	inv := inventory(t, "laptop-i7-1165g7")
	latency := builtIn(t, Latency)
	if s := settingOf(t, Settings(inv, []int{2}, latency), "kernel.timer_migration"); s.Value != "0" {
		t.Errorf("without nohz_full: %s", s.Value)
	}
	inv.CPUs[2].NoHzFull = true
	if s := settingOf(t, Settings(inv, []int{2}, latency), "kernel.timer_migration"); s.Value != "1" {
		t.Errorf("with nohz_full: %s", s.Value)
	}
}

func TestWhatTheHostLacksIsSaidWithTheReason(t *testing.T) {
	inv := inventory(t, "microvm")
	list := Settings(inv, []int{1}, builtIn(t, Realtime))
	for name, words := range map[string]string{
		"kernel.numa_balancing":  "one NUMA node",
		"scaling_governor":       "hypervisor",
		"machinecheck.ignore_ce": "CONFIG_X86_MCE",
	} {
		if s := settingOf(t, list, name); !strings.Contains(s.Absent, words) {
			t.Errorf("%s: %q does not say %q", name, s.Absent, words)
		}
	}
	parameters := BootParameters(inv, []int{1}, builtIn(t, Latency), Use{})
	if p := find(t, parameters, "nohz_full"); !strings.Contains(p.Absent, "NO_HZ_FULL") {
		t.Errorf("nohz_full: %q", p.Absent)
	}
	if line := Line(parameters); strings.Contains(line, "nohz_full") {
		t.Errorf("the command line has what the kernel cannot: %s", line)
	}
	// fair_server came with 6.12.
	inv.Kernel.Release = "6.11.0"
	if s := settingOf(t, Settings(inv, []int{1}, builtIn(t, Realtime)), "fair_server"); !strings.Contains(s.Absent, "6.12") {
		t.Errorf("fair_server: %q", s.Absent)
	}
}

func TestConflictsAreNamed(t *testing.T) {
	inv := inventory(t, "epyc-7551p")
	cases := []struct {
		boot, name, words string
		use               Use
	}{
		{"amd_iommu=off", "amd_iommu", "needs the IOMMU on", Use{DeviceAccess: true}},
		{"isolcpus=managed_irq,domain", "isolcpus", "cpusets", Use{}},
		{"idle=poll", "idle", "then have no effect", Use{}},
		{"iommu=pt", "iommu", "amd_iommu=off is in force", Use{}},
		{"systemd.unified_cgroup_hierarchy=0", "systemd.unified_cgroup_hierarchy", "258", Use{}},
	}
	for _, c := range cases {
		p := builtIn(t, Latency)
		if err := p.SetBoot(c.boot); err != nil {
			t.Fatal(err)
		}
		q := find(t, BootParameters(inv, []int{8, 9}, p, c.use), c.name)
		if !strings.Contains(strings.Join(q.Conflicts, "\n"), c.words) {
			t.Errorf("%s: %q does not say %q", c.boot, q.Conflicts, c.words)
		}
	}
}

func TestMitigationsStayUnlessAskedFor(t *testing.T) {
	inv := inventory(t, "laptop-i7-1165g7")
	for _, name := range ProfileNames() {
		if line := Line(BootParameters(inv, []int{2}, builtIn(t, name), Use{DeviceAccess: true, VMs: true})); strings.Contains(line, "mitigations") {
			t.Errorf("%s turns mitigations off: %s", name, line)
		}
	}
}

func TestMergeReplacesWhereAParameterStands(t *testing.T) {
	one := func(name, text string) Parameter { return Parameter{Advice: Advice{Name: name}, Text: text} }
	got := Merge("root=/dev/sda1 nohz_full=1 quiet nohz_full=2 -- nohz_full=3", []Parameter{
		one("nohz_full", "nohz_full=2-3"), one("nosmt", "nosmt"), {Advice: Advice{Name: "x"}, Text: "x", Absent: "no"},
	})
	if want := "root=/dev/sda1 nohz_full=2-3 quiet nosmt -- nohz_full=3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHousekeepingSharesNoCoreWithTheChosen(t *testing.T) {
	inv := inventory(t, "laptop-i7-1165g7") // 0-3 with siblings 4-7
	if got := cpulist.Format(Housekeeping(inv, []int{2, 3})); got != "0-1,4-5" {
		t.Errorf("housekeeping: %s", got)
	}
	if got := cpulist.Format(Housekeeping(inv, []int{0, 1, 2, 3})); got != "4-7" {
		t.Errorf("with all cores chosen: %s", got)
	}
	if got := cpulist.Format(Siblings(inv, []int{2, 3, 6})); got != "7" {
		t.Errorf("siblings: %s", got)
	}
}
