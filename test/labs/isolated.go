package labs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/tasks"
)

// Isolated changes the whole host, so only tests for the virtual laboratory bring it up:
//
//	CPU 0 and 1: the host, its spinners, idle (a container that needs no CPU)
//	CPU 2 and 3: gen (a process in namespaces) and dut (a container), by themselves
const Isolated = `
name: tbisolated
isolation: isolated
topology:
  nodes:
    gen: {runtime: netns, cpus: 1}
    dut: {runtime: lxc, cpus: 1, memory: 256MiB, app: {kind: reflect, backend: raw}}
    idle: {runtime: lxc}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: side, kind: bridge, endpoints: ["gen:side", "idle:eth0"]}
`

// CheckInterrupts fails the test if interrupts may go to CPUs that a lab has taken. It skips interrupts that cannot be moved: for
// those the kernel refuses even the affinity they have.
func CheckInterrupts(t *testing.T, taken tasks.Set) {
	t.Helper()
	paths, err := filepath.Glob("/proc/irq/*/smp_affinity_list")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no interrupts: %v", err)
	}
	movable := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		cpus, err := tasks.ParseSet(string(text))
		if err != nil {
			t.Fatal(err)
		}
		// EIO, and EPERM since Linux 6.8.
		if err := os.WriteFile(path, text, 0o644); errors.Is(err, unix.EIO) || errors.Is(err, unix.EPERM) {
			continue
		}
		movable++
		if cpus.Meets(taken) {
			t.Errorf("%s is %s", path, cpus)
		}
	}
	if movable == 0 {
		t.Error("no interrupt can be moved: nothing is proven")
	}
}
