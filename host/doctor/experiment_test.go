package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// runsOf reads an experiment file, applies the changes and returns its runs.
func runsOf(t *testing.T, path string, sets ...string) []spec.Run {
	t.Helper()
	file, err := spec.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if err := file.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := file.Runs()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func judgeFile(t *testing.T, inv *host.Inventory, path string, sets ...string) *Report {
	t.Helper()
	report, err := JudgeFile(inv, runsOf(t, path, sets...))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if !slices.ContainsFunc(findingKinds(), func(of findingKind) bool { return named(of) == kind(f.ID) }) {
			t.Errorf("%s has no description", f.ID)
		}
	}
	return report
}

func (r *Report) of(id string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].ID == id {
			return &r.Findings[i]
		}
	}
	return nil
}

// TestSpinningExperiment: what delays only sleeping threads is a note for an experiment
// that spins, and a warning for the same experiment when it blocks.
func TestSpinningExperiment(t *testing.T) {
	const id = "idle-states"
	inv := load(t, "laptop-i7-1165g7")
	for set, want := range map[string]host.Severity{"traffic.wait=spin": host.SeverityNote, "traffic.wait=block": host.SeverityWarning} {
		if f := judgeFile(t, inv, "../../examples/quickstart.yaml", set).of(id); f == nil || f.Severity != want {
			t.Errorf("with %s, %s is %+v, want a %s", set, id, f, want)
		}
	}
}

// TestChosenCPUs: the CPUs are those of the plan, whatever was isolated at boot.
func TestChosenCPUs(t *testing.T) {
	report := judgeFile(t, load(t, "epyc-7551p"), "../../plan/testdata/pinned.yaml")
	var planned []int
	for _, run := range runsOf(t, "../../plan/testdata/pinned.yaml") {
		p, err := plan.Make(run.Experiment, load(t, "epyc-7551p"))
		if err != nil {
			t.Fatal(err)
		}
		planned = append(planned, ScopeOf(load(t, "epyc-7551p"), run.Experiment, p).CPUs...)
	}
	slices.Sort(planned)
	if planned = slices.Compact(planned); !slices.Equal(report.CPUs, planned) || len(planned) == 0 {
		t.Errorf("judged for %v, planned are %v", report.CPUs, planned)
	}
}

// TestImpossible: what prevents the experiment from running comes first, with exit code 3.
func TestImpossible(t *testing.T) {
	for name, test := range map[string]struct {
		host, file string
		sets       []string
		want       string
	}{
		"hugepages": {"epyc-7551p", "../../plan/testdata/bypass.yaml", []string{"dpdk.hugepages=auto"}, "needs-hugepages"},
		"program":   {"microvm", "../../examples/quickstart.yaml", []string{"sweep.links.*.kind=[veth, snabb]", "traffic.backend=dpdk"}, "needs-snabb"},
		"CPUs":      {"microvm", "../../examples/quickstart.yaml", []string{"nodes.dut.cpus=40"}, "needs-more"},
		"privilege": {"laptop-i7-1165g7", "../../examples/quickstart.yaml", nil, "needs-root"},
	} {
		t.Run(name, func(t *testing.T) {
			report := judgeFile(t, load(t, test.host), test.file, test.sets...)
			f := report.of(test.want)
			if f == nil || f.Severity != host.SeverityError || len(f.Remedies) == 0 || f.Source == "" {
				t.Fatalf("%s is %+v, among %q", test.want, f, kinds(report.Findings))
			}
			if report.Findings[0].Severity != host.SeverityError {
				t.Errorf("%s comes first", report.Findings[0].ID)
			}
			if err := report.Unfit(); exit.Code(err) != exit.Lacks {
				t.Errorf("the exit is %v", err)
			}
		})
	}
}

// TestWorstOfRuns: a finding in some runs names them, and keeps the worst instance.
func TestWorstOfRuns(t *testing.T) {
	report := judgeFile(t, load(t, "laptop-i7-1165g7"), "../../examples/quickstart.yaml",
		"sweep.links.*.kind=[veth]", "sweep.traffic.rate_pps=[1000]", "sweep.traffic.wait=[spin, block]")
	if report.Runs != 2 {
		t.Fatalf("%d runs were judged, want 2", report.Runs)
	}
	if f := report.of("idle-states"); f == nil || f.Severity != host.SeverityWarning {
		t.Errorf("idle-states is %+v, want the worse of note and warning", f)
	}
	report = judgeFile(t, load(t, "microvm"), "../../examples/quickstart.yaml", "sweep.links.*.kind=[veth, ovs]", "sweep.traffic.rate_pps=[1000]")
	if f := report.of("needs-ovs-vswitchd"); f == nil || !slices.Equal(f.Runs, []int{2}) {
		t.Errorf("the missing switch is %+v, want it in run 2 only", f)
	}
}

// TestHandled: what the experiment's tuning and isolation take care of is not a finding.
func TestHandled(t *testing.T) {
	inv := load(t, "cloud-c6i-xlarge")
	const file = "../../examples/quickstart.yaml"
	plain := judgeFile(t, inv, file)
	cared := judgeFile(t, inv, file, "isolation=isolated", "tuning=latency")
	for id, by := range map[string]string{
		"vmstat": "tuning: latency", "machine-checks": "tuning: latency", "workqueues": "isolation: isolated", "interrupts": "isolation: isolated", "not-isolated": "isolation: isolated",
	} {
		if plain.of(id) == nil {
			t.Errorf("%s is not found without", id)
		}
		if cared.of(id) != nil || !slices.Contains(cared.Handled, Handled{id, by}) {
			t.Errorf("%s is %+v, want it handled by %s: %v", id, cared.of(id), by, cared.Handled)
		}
	}
	if len(plain.Handled) != 0 {
		t.Errorf("%v are handled by nothing", plain.Handled)
	}
}

// TestGuests: virtual machines on a host without KVM give meaningless timings.
func TestGuests(t *testing.T) {
	inv := load(t, "microvm")
	const file = "../../examples/quickstart.yaml"
	sets := []string{"nodes.dut={runtime: vm, cpus: 1, app: {kind: forward}}", "sweep.links.*.kind=[bridge]"}
	inv.SetFeatures([]host.Feature{{Name: host.FeatureTun, State: host.StateYes}})
	for state, want := range map[host.State]string{host.StateNo: "vm-translated", host.StateUnknown: "vm-untried"} {
		inv.SetFeatures([]host.Feature{{Name: host.FeatureKVM, State: state, Detail: "as the test says"}})
		if f := judgeFile(t, inv, file, sets...).of(want); f == nil || !strings.Contains(f.Title, "dut") {
			t.Errorf("with kvm %s, %s is %+v", state, want, f)
		}
	}
	if f := judgeFile(t, inv, file).of("vm-untried"); f != nil {
		t.Errorf("an experiment without virtual machines has %+v", f)
	}
}

// TestPrivilegedNodes: nodes that can change the host are named, and fit it none the less.
func TestPrivilegedNodes(t *testing.T) {
	inv := load(t, "epyc-7551p")
	const file = "../../examples/quickstart.yaml"
	plain, asked := judgeFile(t, inv, file), judgeFile(t, inv, file, "nodes.dut.privileged=true")
	f := asked.of("privileged")
	if f == nil || f.Severity != host.SeverityNote || !strings.Contains(f.Title, "(dut)") || asked.Verdict != plain.Verdict {
		t.Errorf("it is %+v, and the verdict %s", f, asked.Verdict)
	}
	if f := plain.of("privileged"); f != nil {
		t.Errorf("an experiment without privileged nodes has %+v", f)
	}
}

// TestOldKernelCannotIsolate: an experiment that asks for isolated partitions does not run
// on a kernel without them.
func TestOldKernelCannotIsolate(t *testing.T) {
	report := judgeFile(t, load(t, "epyc-7551p"), "../../examples/quickstart.yaml", "isolation=isolated")
	if f := report.of("no-isolated-partitions"); f == nil || f.Severity != host.SeverityError || report.Verdict != VerdictImpossible {
		t.Errorf("it is %+v", f)
	}
}

// TestBrief: plans and runs print one line for each finding that makes results wrong, and
// one for the rest; a lab without traffic prints neither.
func TestBrief(t *testing.T) {
	inv := load(t, "microvm")
	inv.Clock.Source = "hpet"
	brief := func(path string, sets ...string) []string {
		run := runsOf(t, path, sets...)[0]
		p, err := plan.Make(run.Experiment, inv)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, f := range Brief(inv, Planned{run.Experiment, p}) {
			lines = append(lines, f.String())
		}
		return lines
	}
	want := []string{
		"warning: clocksource: the kernel's clock is hpet, not the TSC, which may cost 0.5 to 1.5 µs; take the TSC: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
		"warning: latency: 4 things on this host will show in the tail, above all: a hypervisor (kvm) takes CPUs away at times, which may cost 1 µs to 2.8 ms; nines doctor lists all of them with their remedies",
	}
	if got := brief("../../examples/quickstart.yaml"); !slices.Equal(got, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := brief("../../examples/lab-only.yaml"); len(got) != 0 {
		t.Errorf("of a lab without traffic it says %q", got)
	}
}

// TestHugepagesThatRunsLackAreOneFinding: each run of a sweep lacks a different number of
// hugepages; one finding for all runs gives the largest.
func TestHugepagesThatRunsLackAreOneFinding(t *testing.T) {
	report := judgeFile(t, load(t, "microvm"), "../../examples/memif.yaml", "sweep={dpdk.memory: [64MiB, 256MiB, 128MiB]}", "dpdk.hugepages=auto")
	var found []Finding
	for _, f := range report.Findings {
		if f.ID == "needs-hugepages" {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d findings: %+v", len(found), found)
	}
	if !strings.Contains(found[0].Title, "needs 128 hugepages") {
		t.Errorf("it says %q, and 256 MiB are the most", found[0].Title)
	}
}

// TestConflict: a file that contradicts itself is the file's fault, not the host's.
func TestConflict(t *testing.T) {
	runs := runsOf(t, "../../examples/quickstart.yaml", "nodes.dut.addresses={in: [10.0.0.1/24]}", "nodes.loadgen.addresses={tx: [10.1.0.1/24]}")
	_, err := JudgeFile(load(t, "microvm"), runs)
	conflict := new(plan.Conflict)
	if !errors.As(err, &conflict) || !strings.Contains(err.Error(), "run 1") {
		t.Errorf("the error is %v", err)
	}
}

// TestWellTunedHostIsFit: a well-tuned host is fit, and the exit code is 0.
func TestWellTunedHostIsFit(t *testing.T) {
	report := Judge(load(t, "rt-xeon-6354"))
	if err := report.Unfit(); err != nil || report.Verdict != VerdictFit {
		t.Errorf("%v: %v", report.Verdict, err)
	}
	unfit := Judge(load(t, "microvm")).Unfit()
	if exit.Code(unfit) != exit.Failed {
		t.Errorf("a host with warnings gives %v", unfit)
	}
}
