package lab

import (
	"context"
	"os"
	"strings"
	"testing"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/test/labtest"
)

// load:tx ──in── dut:in ▸ reflect, by a process of the bare host
const hostLab = `
name: tbhost
topology:
  nodes:
    load: {}
    dut: {runtime: host, app: {kind: reflect, backend: raw}}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
`

// A host node shares everything with the host except the lab's interfaces.
func TestAHostNodeIsTheHost(t *testing.T) {
	labtest.Root(t)
	lab := up(t, hostLab)
	for _, namespace := range []string{"mnt", "pid", "uts", "ipc", "user", "cgroup"} {
		ours, err := os.Readlink("/proc/self/ns/" + namespace)
		if err != nil {
			t.Fatal(err)
		}
		if theirs := in(t, lab, "dut", "readlink", "/proc/self/ns/"+namespace); theirs != ours {
			t.Errorf("its %s namespace is %s, and the host's is %s", namespace, theirs, ours)
		}
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if theirs := in(t, lab, "dut", "cat", "/proc/self/cgroup"); theirs != strings.TrimSpace(string(groups)) {
		t.Errorf("its control groups are\n%s\nand ours\n%s", theirs, groups)
	}
	if links := in(t, lab, "dut", "ip", "-o", "link"); strings.Count(links, "\n") != 1 || !strings.Contains(links, " in@") {
		t.Errorf("its interfaces are not lo and in:\n%s", links)
	}
	in(t, lab, "load", "ping", "-c1", "-W2", lab.Plan().Nodes[1].Interfaces[0].Neighbours[0].IP)
	if now := in(t, lab, "dut", "true"); now != "" {
		t.Errorf("true said %q", now)
	}
}

// Background processes of a host node are found and ended by its token, as it has no pid namespace.
func TestAHostNodeTakesItsProcessesAlong(t *testing.T) {
	labtest.Root(t)
	lab := up(t, hostLab)
	in(t, lab, "dut", "sh", "-c", "NINES_TEST=tbhost-sleeper sleep 1000 >/dev/null 2>&1 &")
	sleepers := func() (found []int) {
		if err := proc.Each(func(id proc.Identity) error {
			ours, err := id.Holds("tbhost-sleeper")
			if ours && id.Alive() {
				found = append(found, id.PID)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n := len(sleepers()); n != 1 {
		t.Fatalf("%d sleepers run", n)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := sleepers(); len(left) != 0 {
		t.Errorf("%v still run", left)
	}
}
