package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/lab/isolate"
)

const recordedHost = "../../host/testdata/hosts/laptop-i7-1165g7.json"

func TestTuneRefusesWrongCalls(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(profile, []byte("base: latency\nsettings:\n  vm.swapiness: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusals(t, "tune", map[string]string{
		"plan --cpus 99":                            "CPU 99 is not online",
		"plan --cpus 2-1":                           "runs backwards",
		"plan --cpus x":                             "not a CPU number",
		"plan --cpus 0 --for lab.yaml":              "give one of them",
		"plan --profile latency --file x.yaml":      "give one of them",
		"plan --cpus 0 --set tuning=latency":        "--for FILE",
		"plant":                                     "unknown command",
		"plan --profile fast":                       "latency, realtime, throughput",
		"plan --file /does/not/exist.yaml":          "no such file",
		"plan --file " + profile:                    profile + `:3:3: settings.vm.swapiness: unknown setting; did you mean "vm.swappiness"?`,
		"plan --boot a$b":                           "not a name of a boot parameter",
		"plan --cgroup v3":                          "v1, v2",
		"plan --format xml":                         "table, json",
		"plan here":                                 "takes no argument",
		"apply --root /tmp":                         "--root is for --write",
		"check --cpus 0 --duration 10ms":            "too short",
		"check --cpus 4000":                         "CPU 4000 is not online",
		"plan --host /does/not/exist.json --cpus 0": "--host",
	})
}

// tunePlan runs nines tune plan for the recorded host and returns the plan.
func tunePlan(t *testing.T, args ...string) (p tune.Plan) {
	t.Helper()
	code, out, errOut := call(append([]string{"tune", "plan", "--host", recordedHost, "--format", "json"}, args...)...)
	if code != exit.Done {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTunePlanForAnotherHost(t *testing.T) {
	p := tunePlan(t, "--cpus", "2-3", "--profile", "realtime", "--boot", "mitigations=off")
	for _, word := range []string{"nohz_full=2-3", "nosmt", "mitigations=off"} {
		if !slices.Contains(strings.Fields(p.BootLine), word) {
			t.Errorf("%q has no %s", p.BootLine, word)
		}
	}
}

// The CPUs and the profile come from the experiment.
func TestTunePlanForAnExperiment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.yaml")
	text := "name: t\ntuning: realtime\ntopology:\n  nodes: {a: {cpu_list: \"2-3\"}, b: {cpu_list: \"1\"}}\n  links: [{name: l, endpoints: [\"a:x\", \"b:x\"]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := tunePlan(t, "--for", file)
	if p.Profile != "realtime" || !slices.Equal(p.CPUs, []int{1, 2, 3}) {
		t.Errorf("profile %s for CPUs %v", p.Profile, p.CPUs)
	}
}

// All runs of a sweep count: the first may have neither CPUs nor tuning.
func TestTunePlanForASweep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.yaml")
	text := `name: t
topology:
  nodes: {a: {cpu_list: "2-3"}, b: {cpu_list: "1"}}
  links: [{name: l, endpoints: ["a:x", "b:x"]}]
sweep:
  where:
    anywhere: {isolation: none}
    pinned: {isolation: affinity, tuning: realtime}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := tunePlan(t, "--for", file)
	if !slices.Equal(p.CPUs, []int{1, 2, 3}) || p.Profile != tune.Realtime {
		t.Errorf("CPUs %v, profile %s", p.CPUs, p.Profile)
	}
}

func TestTuneWritesToACopyAndTakesItBack(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "etc", "kernel", "cmdline")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	const before = "root=UUID=1 ro quiet\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := call("tune", "apply", "--cpus", "1", "--write", "--root", root)
	if code != exit.Done {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	written, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(written), "root=UUID=1 ro quiet ") || !strings.Contains(string(written), "irqaffinity=") {
		t.Errorf("%q, %v", written, err)
	}
	if !strings.Contains(out, "kernel-install add-all was not run") {
		t.Errorf("said: %s", out)
	}
	if code, _, _ := call("tune", "apply", "--cpus", "1", "--write", "--root", root); code != exit.Failed {
		t.Errorf("a second write: exit code %d", code)
	}
	if code, _, errOut := call("tune", "revert", "--root", root); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != before {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(root, "var", "lib", "nines")); err == nil {
		t.Error("the folder of backups is left")
	}
}

func TestTuneWithoutABootLoaderIsTheHostsLack(t *testing.T) {
	if code, _, errOut := call("tune", "apply", "--cpus", "1", "--write", "--root", t.TempDir()); code != exit.Lacks {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// Profiles name the things that package isolate finds.
func TestTuneKnowsWhatIsolateMoves(t *testing.T) {
	var names []string
	for _, a := range isolate.Advice() {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, tune.BesideNames) {
		t.Errorf("isolate has %v, tune %v", names, tune.BesideNames)
	}
}
