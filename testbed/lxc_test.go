package testbed

import (
	"os/exec"
	"strings"
	"testing"

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

func lxc(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("lxc-start")
	labtest.Require(t, "lxc", err == nil)
}

func TestContainerIsAMachineOfItsOwn(t *testing.T) {
	labtest.Root(t)
	lxc(t)
	lab := up(t, mixedLab)
	a := lab.Plan().Nodes[0].Interfaces[0]
	if out := in(t, lab, "b", "ping", "-c1", "-W2", strings.SplitN(a.Addresses[0], "/", 2)[0]); !strings.Contains(out, " 0% packet loss") {
		t.Error(out)
	}
	if out := in(t, lab, "b", "sh", "-c", "echo $COLOUR $(hostname)"); out != "green "+lab.Plan().Nodes[1].HostName {
		t.Errorf("the container says %q", out)
	}
	if out := in(t, lab, "b", "sh", "-c", "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; grep -E '^(3:cpuset|Cpus_allowed_list)' /proc/self/cgroup /proc/self/status"); !strings.Contains(out, "1") {
		t.Error(out)
	}
}
