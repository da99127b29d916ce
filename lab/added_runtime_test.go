package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// cell is a runtime that nines does not have: a netns node whose commands see another root file
// system. This file has all that adding it takes: a descriptor and a Runtime.
const cell spec.Runtime = "cell"

func init() {
	spec.RegisterRuntime(spec.RuntimeDescriptor{
		Name: cell, Doc: "namespaces of its own, with a root that chroot(2) sets",
		Keys: []string{"memory"}, Sysctls: spec.SysctlsOfNamespaces, OwnRoot: true, Groups: spec.GroupedByNines,
	})
	node.Register(cell, cellRuntime{})
}

type cellRuntime struct{ node.Process }

func (cellRuntime) StartStep(plan.Node) string { return "make a cell" }

func cellRoot(p node.Place, n plan.Node) string { return p.NodeFolder(n.Name) }

func (cellRuntime) Start(_ context.Context, p node.Place, n plan.Node) (*node.Running, error) {
	bin := filepath.Join(cellRoot(p, n), "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(bin, "busybox"), text, 0o755); err != nil {
		return nil, err
	}
	r, err := p.StartNetns(n.Name, n.HostName, node.WallsOf(n))
	if err != nil {
		return nil, err
	}
	return r, p.Confine(n, r)
}

func (c cellRuntime) Command(ctx context.Context, p node.Place, n plan.Node, r *node.Running, e node.Entry) (*exec.Cmd, error) {
	e.Argv = append([]string{"chroot", cellRoot(p, n)}, e.Argv...)
	return c.Process.Command(ctx, p, n, r, e)
}

// load:tx ──in── dut:in, in a cell
const cellLab = `
name: tbcell
topology:
  nodes:
    load: {}
    dut: {runtime: cell, cpus: 1, memory: 64MiB}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
`

// TestARuntimeIsAddedInOneFile: an experiment is checked, planned, dry-run and built with a runtime
// that only this test has.
func TestARuntimeIsAddedInOneFile(t *testing.T) {
	schema, err := spec.Schema()
	if err != nil || !strings.Contains(string(schema), `"cell"`) {
		t.Errorf("the schema does not name it: %v", err)
	}
	wrong := strings.Replace(cellLab, "memory: 64MiB", "mounts: [{source: /srv, target: /mnt}]", 1)
	file, err := spec.Load("cell.yaml", []byte(wrong))
	if err == nil {
		_, err = file.Experiment()
	}
	if err == nil || !strings.Contains(err.Error(), "cell nodes have no mounts") || !strings.Contains(err.Error(), "runtime: netns, lxc") {
		t.Errorf("a key that it does not take: %v", err)
	}
	p := labs.Plan(t, cellLab)
	if dut := p.Node("dut"); dut.Runtime != cell || dut.MemoryBytes != 64<<20 {
		t.Errorf("its plan: %+v", dut)
	}
	if steps := dryrun.Steps(p); !slices.ContainsFunc(steps, func(s string) bool { return strings.HasPrefix(s, "node dut: make a cell, named") }) {
		t.Errorf("the dry run does not say how it is made: %q", steps)
	}
}

func TestALabOfAnAddedRuntimeComesAndGoes(t *testing.T) {
	labtest.Root(t)
	_, err := exec.LookPath("busybox")
	labtest.Require(t, "busybox-static", err == nil)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	lab := up(t, cellLab)
	if seen := in(t, lab, "dut", "/bin/busybox", "ls", "/"); seen != "bin" {
		t.Errorf("its root file system has %q", seen)
	}
	dut := lab.Plan().Node("dut")
	in(t, lab, "dut", "/bin/busybox", "ping", "-c1", "-W2", dut.Interfaces[0].Neighbours[0].IP)
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, state.Root()); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
