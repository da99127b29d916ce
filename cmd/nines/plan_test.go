package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
)

func hostFile(name string) string {
	return filepath.Join("..", "..", "host", "testdata", "hosts", name+".json")
}

const quickstartFile = "../../examples/quickstart.yaml"

// TestPlanEveryExample: each example can be planned on a machine with two CPUs, or, if it needs
// hardware, on the machine recorded in the virtual laboratory.
func TestPlanEveryExample(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		machine := "microvm"
		if filepath.Base(file) == "sriov.yaml" {
			machine = "laboratory"
		}
		code, table, stderr := call("plan", file, "--host", hostFile(machine))
		if lacks := strings.Contains(table, "error: "); code != exit.Done && !lacks || lacks != (code == exit.Lacks) {
			t.Errorf("nines plan %s: exit code %d: %s", file, code, stderr)
		}
	}
}

// TestPlanShowsPrivilegedNodes: the table and JSON name the nodes that have no walls.
func TestPlanShowsPrivilegedNodes(t *testing.T) {
	arguments := []string{"plan", quickstartFile, "--host", hostFile("epyc-7551p"), "--set", "nodes.dut.privileged=true"}
	_, table, _ := call(arguments...)
	if strings.Count(table, "(privileged)") != 1 || !strings.Contains(table, "lxc (privileged)") || !strings.Contains(table, "all rights of the host's root") {
		t.Errorf("the table does not show it:\n%s", table)
	}
	if _, text, _ := call(append(arguments, "--format", "json")...); strings.Count(text, `"privileged": true`) != 1 {
		t.Errorf("JSON does not show it:\n%.2000s", text)
	}
}

// TestPlanOutput: the table has the plan and what the host lacks. So does JSON, beside the plan's
// own keys, and it is the same each time.
func TestPlanOutput(t *testing.T) {
	code, table, stderr := call("plan", quickstartFile, "--host", hostFile("laptop-i7-1165g7"))
	if code != exit.Lacks || !strings.Contains(stderr, "'nines run' would refuse to start on this host: 1 error above") { // and root, which plan does not need
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"dut", "loadgen:tx > dut:in", "why:", "error: root: ", "error: lxc: node dut needs it"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
	_, first, _ := call("plan", quickstartFile, "--host", hostFile("epyc-7551p"), "--format", "json", "--run", "2")
	_, second, _ := call("plan", quickstartFile, "--host", hostFile("epyc-7551p"), "--format", "json", "--run", "2")
	var p struct {
		Schema, Name string
		Nodes        []struct{ Name string }
		Findings     []host.Finding
	}
	if err := json.Unmarshal([]byte(first), &p); err != nil || p.Schema != "nines/plan/v1" || p.Name != "quickstart" || len(p.Nodes) != 2 {
		t.Errorf("JSON is %.200s (%v)", first, err)
	}
	if first != second {
		t.Error("two plans of the same file and host differ")
	}
	_, text, _ := call("plan", quickstartFile, "--host", hostFile("laptop-i7-1165g7"), "--format", "json")
	p.Findings = nil // otherwise an element keeps fields that the text lacks
	if err := json.Unmarshal([]byte(text), &p); err != nil || len(p.Findings) == 0 {
		t.Fatalf("JSON has no findings, and the table has: %v\n%s", err, text)
	}
	for _, f := range p.Findings {
		if !strings.Contains(table, "  - "+f.String()+"\n") {
			t.Errorf("the table has no %q", f)
		}
	}
	if in := strings.Count(table[strings.Index(table, "\nhost:"):], "\n  - "); in != len(p.Findings) {
		t.Errorf("the table has %d findings, JSON %d", in, len(p.Findings))
	}
}

// TestPlanErrors: each error has the exit code of its kind.
func TestPlanErrors(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"schema":"nines/host/v9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"plan"}, exit.Wrong, "name one experiment file"},
		{[]string{"plan", quickstartFile, "--run", "999"}, exit.Wrong, "--run 999"},
		{[]string{"plan", quickstartFile, "--format", "xml"}, exit.Wrong, "table, json"},
		{[]string{"plan", quickstartFile, "--host", "absent.json"}, exit.Wrong, "absent.json"},
		{[]string{"plan", quickstartFile, "--host", quickstartFile}, exit.Wrong, "not an inventory: invalid character"},
		{[]string{"plan", quickstartFile, "--host", quickstartFile}, exit.Wrong, "nines host --format json > FILE writes one"},
		{[]string{"plan", quickstartFile, "--host", broken}, exit.Wrong, "nines/host/v9"},
		{[]string{"plan", "absent.yaml"}, exit.Wrong, "absent.yaml"},
		{[]string{"plan", quickstartFile, "--set", "nodes.dut.cpus=4", "--host", hostFile("microvm")}, exit.Lacks, "node dut requests 4 CPUs; the host has 2"},
		{[]string{"host", "extra"}, exit.Wrong, "takes no argument"},
	} {
		code, stdout, stderr := call(c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("nines %s: exit code %d, stdout %q, stderr %q; want %d with %q", strings.Join(c.args, " "), code, stdout, stderr, c.code, c.want)
		}
	}
}

// TestPlanErrorsHavePlaces: for a requirement that the host cannot meet, the error has file, line
// and column; unrelated requirements are reported, too.
func TestPlanErrorsHavePlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "greedy.yaml")
	text := `name: greedy
topology:
  nodes:
    a: {cpus: 200}
    b: {memory: 900TiB, cpu_list: 7}
  links: [{kind: macvlan, parent: eth9, endpoints: ["a:e", "b:e"]}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call("plan", file, "--host", hostFile("microvm"))
	for _, want := range []string{
		"nines: 4 errors:\n",
		file + ":6:35: topology.links.0.parent: link link1 requests the parent eth9",
		file + ":5:35: topology.nodes.b.cpu_list: node b requests CPU 7",
		file + ":5:17: topology.nodes.b.memory: node b requests 900TiB of memory",
		file + ":4:15: topology.nodes.a.cpus: node a requests 200 CPUs; the host has 2",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
	}
	if code != exit.Lacks {
		t.Errorf("exit code %d", code)
	}
}

// TestHostOutput: nines plan accepts both the printed inventory and the written recording.
func TestHostOutput(t *testing.T) {
	dir := t.TempDir()
	inventory, recording := filepath.Join(dir, "host.json"), filepath.Join(dir, "recording.json")
	code, out, stderr := call("host", "--format", "json")
	if code != exit.Done {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := os.WriteFile(inventory, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call("host", "--record", recording); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	_, fromInventory, stderr := call("plan", "../../examples/veth-pair.yaml", "--format", "json", "--host", inventory)
	_, fromRecording, _ := call("plan", "../../examples/veth-pair.yaml", "--format", "json", "--host", recording)
	if fromInventory == "" || fromInventory != fromRecording {
		t.Errorf("plans differ, or there is none: %s\n%.300s\n%.300s", stderr, fromInventory, fromRecording)
	}
}

// TestDryRunOnAHostThatLacks: prints the steps, then what is missing, and ends with exit code 3.
func TestDryRunOnAHostThatLacks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vm.yaml")
	text := `name: dryvm
topology:
  nodes: {gen: {}, dut: {runtime: vm}}
  links: [{name: in, endpoints: ["gen:tx", "dut:in"]}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir()) // no QEMU there
	code, stdout, stderr := call("up", "--dry-run", file)
	if code != exit.Lacks || !strings.Contains(stdout, "node dut") || !strings.Contains(stderr, "qemu") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}
