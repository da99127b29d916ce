package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// a:x ──veth── b:x    a is a process in namespaces, b an LXC container
const mixedLab = `
name: tbmixed
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: lxc, cpus: 1, memory: 256MiB, env: {COLOUR: green}}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`

// TestNothingOfLXCsOwnStays: the control groups that LXC makes once and keeps, and the folders of its locks.
func TestNothingOfLXCsOwnStays(t *testing.T) {
	labtest.Root(t)
	labtest.WholeHost(t) // no other lab's monitor ends meanwhile
	labs.NeedLXC(t)
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	groups := func() (there []string) {
		for _, h := range hierarchies {
			if path := filepath.Join(h.Mount, "lxc.pivot"); labtest.There(t, path) {
				there = append(there, path)
			}
		}
		return there
	}
	locks := filepath.Join("/run/lxc/lock", os.Getenv("NINES_STATE_DIR"))
	before := groups()
	lab := up(t, mixedLab)
	if !labtest.There(t, locks) {
		t.Errorf("LXC has no locks in %s: nothing is proven", locks)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after := groups(); !slices.Equal(after, before) {
		t.Errorf("the groups of monitors that end were %v, and are %v", before, after)
	}
	if labtest.There(t, locks) {
		t.Errorf("%s is left", locks)
	}
}

func TestContainerIsAMachineOfItsOwn(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	lab := up(t, mixedLab)
	a := lab.Plan().Nodes[0].Interfaces[0]
	if out := in(t, lab, "b", "ping", "-c1", "-W2", strings.SplitN(a.Addresses[0], "/", 2)[0]); !strings.Contains(out, " 0% packet loss") {
		t.Error(out)
	}
	if out := in(t, lab, "b", "sh", "-c", "echo $COLOUR $(hostname)"); out != "green "+lab.Plan().Nodes[1].HostName {
		t.Errorf("the container says %q", out)
	}
	if out := in(t, lab, "b", "grep", "Cpus_allowed_list", "/proc/self/status"); out != "Cpus_allowed_list:\t"+cpulist.Format(lab.Plan().Nodes[1].CPUs) {
		t.Errorf("the container says %q", out)
	}
	memory, err := isolate.Find(isolate.Memory)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := cgroup.DirsOf(lab.PID("b"))
	if err != nil {
		t.Fatal(err)
	}
	file := map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[memory.Version]
	if text, err := os.ReadFile(filepath.Join(dirs[memory.Mount], file)); string(text) != "268435456\n" {
		t.Errorf("the container's limit is %q: %v", text, err)
	}
}
