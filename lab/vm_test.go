package lab

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/capture"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
)

// load:tx ──in, a tap── dut:in ▸ forward, in a virtual machine ▸ dut:out ──out, vhost-user── load:rx
const vmLab = `
name: tbvm
topology:
  nodes:
    load: {}
    dut: {runtime: vm, app: {kind: forward, backend: raw}, env: {COLOUR: blue}, sysctls: {kernel.pid_max: "4242"}, vm: {acceleration: tcg}}
  links:
    - {name: in, endpoints: ["load:tx", "dut:in"]}
    - {name: out, kind: switch, endpoints: ["dut:out", "load:rx"]}
`

// vmLabOnBridge is without a switch that polls while the machine boots.
var vmLabOnBridge = strings.Replace(vmLab, "kind: switch", "kind: bridge", 1)

// TestAVirtualMachineIsANode: all features of a node work in a machine with Debian's kernel.
func TestAVirtualMachineIsANode(t *testing.T) {
	labs.NeedQEMU(t)
	lab := up(t, vmLab)
	dut := lab.Plan().Nodes[0]

	if got := in(t, lab, "dut", "sh", "-c", `echo "$COLOUR $(hostname) $(cat /proc/sys/kernel/pid_max)"; uname -v`); !strings.HasPrefix(got, "blue "+dut.HostName+" 4242\n") || !strings.Contains(got, "Debian") {
		t.Errorf("in the guest: %s", got)
	}
	fails, err := lab.Command(context.Background(), "dut", []string{"sh", "-c", "cat >&2; exit 7"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fails.Stdin = strings.NewReader("words\n")
	var said strings.Builder
	fails.Stderr = &said
	if err := fails.Run(); fails.ProcessState.ExitCode() != 7 || said.String() != "words\n" {
		t.Errorf("a command that fails: %v, %q", err, said.String())
	}
	for _, i := range dut.Interfaces {
		peer := i.Neighbours[0].IP
		if out := in(t, lab, "dut", "ping", "-c2", "-W5", peer); !strings.Contains(out, " 0% packet loss") {
			t.Errorf("%s to %s: %s", i.Name, peer, out)
		}
	}
	seen, err := lab.Inspect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	state := seen.NodeList[0]
	if len(state.Interfaces) != 2 || state.Interfaces[0].Addresses[0] != dut.Interfaces[0].Addresses[0] || state.App.Engine != "serving" {
		t.Errorf("nines inspect: %+v, app %+v", state, state.App)
	}
	if !slices.ContainsFunc(lab.Settings(), func(s link.Setting) bool { return s.Node == "dut" && s.Device == "out" && s.Values["tso"] == "off" }) {
		t.Errorf("what was set in the guest is not among the settings: %v", lab.Settings())
	}
	if untimed := lab.Untimed(); len(untimed) != 1 || !strings.Contains(untimed[0], "timings mean nothing") {
		t.Errorf("what its timings are worth: %q", untimed)
	}
	if _, err := capture.Open(lab.Lab, capture.Point{Node: "dut", Interface: "in"}); err == nil {
		t.Error("a capture in a guest was begun")
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", lab.Running("dut").QEMU.PID)); err != nil || !strings.Contains(string(line), "/vmlinux\x00") {
		t.Errorf("the guest has to unpack its kernel: %q, %v", line, err)
	}
	pinned(t, lab)
	relaySleeps(t, lab)
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("faults of a lab that is well: %v, %v", faults, err)
	}
	dies(t, lab)
}

// pinned checks that exactly one thread of QEMU is on the guest's CPU in the plan.
func pinned(t *testing.T, lab *Lab) {
	t.Helper()
	dut := lab.Plan().Nodes[0]
	if !dut.VM.Pinned {
		return // too few CPUs
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", lab.Running("dut").QEMU.PID))
	if err != nil {
		t.Fatal(err)
	}
	there := 0
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		var set unix.CPUSet
		if unix.SchedGetaffinity(id, &set) == nil && set.Count() == 1 && set.IsSet(dut.CPUs[0]) {
			there++
		}
	}
	if there != 1 {
		t.Errorf("%d of %d threads are on CPU %v, which is the guest's", there, len(threads), dut.CPUs)
	}
}

// relaySleeps checks that what waits for the engine's callers in the guest does not wake its CPU: Linux says of a port
// without a host that there is something to read, for as long as that lasts.
func relaySleeps(t *testing.T, lab *Lab) {
	t.Helper()
	const sum = `for p in /proc/[0-9]*; do case $(tr '\0' ' ' < $p/cmdline) in *"nines-node relay "*) cat $p/task/*/status;; esac; done |
		awk '/ctxt_switches/ { sum += $2 } END { print sum }'`
	switches := strings.Fields(in(t, lab, "dut", "sh", "-c", sum+"; sleep 3; "+sum))
	if len(switches) != 2 {
		t.Fatalf("context switches of the relay: %q", switches)
	}
	before, err := strconv.Atoi(switches[0])
	if err != nil {
		t.Fatal(err)
	}
	after, err := strconv.Atoi(switches[1])
	if err != nil {
		t.Fatal(err)
	}
	if before == 0 || after-before > 100 {
		t.Errorf("the relay was switched to %d times, and 3 s later %d times", before, after)
	}
}

// dies ends QEMU behind the lab's back.
func dies(t *testing.T, lab *Lab) {
	t.Helper()
	if err := lab.Running("dut").QEMU.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); lab.Alive("dut") && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	faults, err := lab.Faults()
	if err != nil || !slices.ContainsFunc(faults, func(f check.Fault) bool { return strings.Contains(f.Problem, "node dut is dead") }) {
		t.Errorf("a dead machine is no fault: %v, %v", faults, err)
	}
	if _, err := lab.Command(context.Background(), "dut", []string{"true"}, running.ExecOptions{}); err == nil || !strings.Contains(err.Error(), "dead") {
		t.Errorf("a command in a dead machine: %v", err)
	}
}
