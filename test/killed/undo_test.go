package killed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// These tests let the taking down of a lab fail, where the crash tests kill it. Each time the same
// must hold: what exits with 0 has left nothing, and after any other exit the next down, without
// faults, leaves nothing.

// try runs a command of nines, and returns its exit code and what it said.
func (c *Crasher) try(environment []string, command ...string) (code int, said string) {
	c.T.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), environment...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		c.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// finish takes down what a failed down has left.
func (c *Crasher) finish(lab, what string, code int, said string) {
	c.T.Helper()
	if code == 0 {
		c.Gone(what + ", which said that all went well")
		return
	}
	c.Run(0, "down", lab)
	c.Gone(fmt.Sprintf("%s, which exited with %d: %s; and down again", what, code, said))
}

// TestDownWithoutDescriptorsForgetsNothing takes a lab down with ever more file descriptors, so
// that one step after the other lacks one.
func TestDownWithoutDescriptorsForgetsNothing(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasherNamed(t, "tbcrashun")
	labtest.Require(t, "prlimit", labtest.Installed("prlimit"))
	c.Run(0, "up", c.Whole)
	failed := 0
	for limit := 4; ; limit++ {
		if limit == 200 {
			t.Fatal("200 file descriptors are too few for down")
		}
		code, said := c.try(nil, "prlimit", "--nofile="+strconv.Itoa(limit), c.Nines, "down", "tbcrashun")
		if code == 0 {
			c.Gone(fmt.Sprintf("down with at most %d files", limit))
			break
		}
		failed++
		if labtest.Long() {
			c.finish("tbcrashun", fmt.Sprintf("down with at most %d files", limit), code, said)
			c.Run(0, "up", c.Whole)
		}
	}
	if failed < 3 {
		t.Errorf("down failed %d times only: the limits are too high to test anything", failed)
	}
}

// TestDownGoesOnAfterErrors lets every step of undo fail, then in the long form each alone.
func TestDownGoesOnAfterErrors(t *testing.T) {
	labtest.Guarantee(t)
	newCrasherNamed(t, "tbcrashun").undoneAfterErrors("tbcrashun", 20)
}

// TestDownOfOtherLabsGoesOnAfterErrors is the same for what that lab has not: containers of OCI images,
// switches with shared memory, Open vSwitch, receive modes, a watcher, a management network with power
// control, and virtual machines.
func TestDownOfOtherLabsGoesOnAfterErrors(t *testing.T) {
	labtest.Guarantee(t)
	for _, c := range []struct {
		what  string
		text  func(*testing.T) string
		steps int
	}{
		{"oci", func(t *testing.T) string {
			labs.NeedOCIDriver(t, "runc")
			return fmt.Sprintf(`
name: tbundooci
topology:
  nodes:
    a: {runtime: oci, driver: runc, image: %[1]q, init: nines, memory: 256MiB}
    b: {runtime: oci, driver: runc, image: %[1]q, command: [/bin/sleep, "100000"]}
  links: [{name: v, kind: xdp, endpoints: ["a:v", "b:v"]}]
`, labs.OCIImage(t, v1.Config{}))
		}, 5},
		{"switch", func(t *testing.T) string {
			return `
name: tbundosw
dpdk: {hugepages: none}
topology:
  nodes: {a: {runtime: netns}, b: {runtime: netns}}
  links: [{name: l, kind: switch, endpoints: ["a:x", "a:y", "b:z"]}]
traffic: {from: "a:x", to: "a:y", rate_pps: 1000, backend: dpdk, wait: spin, io: batch}
`
		}, 5},
		{"hugepages", func(t *testing.T) string {
			labtest.Hugepages(t)
			labs.NeedLXC(t)
			counts, err := hugepages.Of(0, 2<<20).Read()
			labtest.Require(t, fmt.Sprintf("hugepages (%v)", err), err == nil)
			return strings.Replace(bypassLab(2*(counts.Reserved+32)), "name: tbcrashby", "name: tbundohuge", 1)
		}, 5},
		{"ovs", func(t *testing.T) string {
			labs.NeedOVS(t, "ovs")
			return strings.Replace(labs.OVSStar("ovs", 2, 1500), "name: tbstar", "name: tbundoovs", 1)
		}, 5},
		{"receive", func(t *testing.T) string {
			for _, way := range []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveSuspend} {
				labs.NeedReceive(t, way)
			}
			return strings.Replace(everyReceive, "name: tbrxcrash", "name: tbundorx", 1)
		}, 5},
		{"management", func(t *testing.T) string {
			password := filepath.Join(t.TempDir(), "password")
			if err := os.WriteFile(password, []byte(labs.PowerPassword+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("RUNTIME", "runtime: netns, restart: always", "ADDRESS", "127.0.13.7", "PASSWORD", password).Replace(labs.Power)
			return strings.Replace(text, "name: tbpower", "name: tbundomgmt", 1) + "management: {}\n"
		}, 5},
		{"vm", func(t *testing.T) string {
			labtest.LongForm(t) // its guest boots again and again
			labs.NeedQEMU(t)
			return `
name: tbundovm
topology:
  nodes: {a: {}, g: {runtime: vm, vm: {acceleration: tcg}}}
  links:
    - {name: v, endpoints: ["a:v", "g:v"]}
    - {name: br, kind: bridge, endpoints: ["a:br", "g:br"]}
`
		}, 5},
	} {
		t.Run(c.what, func(t *testing.T) {
			labtest.Experiment(t)
			text := c.text(t)
			before := traces.Sysctls(t)
			New(t, text, text).undoneAfterErrors(labs.Plan(t, text).Name, c.steps)
			traces.SameSysctls(t, before)
		})
	}
}

// undoneAfterErrors lets every step of the undo of a lab fail, of which there are steps at least, then in
// the long form each alone.
func (c *Crasher) undoneAfterErrors(lab string, steps int) {
	c.T.Helper()
	text, err := os.ReadFile(c.Whole)
	if err != nil {
		c.T.Fatal(err)
	}
	labtest.UndoErrors(c.T, labtest.Undone{
		Make: func() { c.Run(0, "up", c.Whole) },
		Undo: func(environment, under []string) (int, string) {
			return c.try(environment, append(under, c.Nines, "down", lab)...)
		},
		Gone: c.Gone, Steps: steps, Slow: bytes.Contains(text, []byte("runtime: vm")), // whose guest boots
	})
}

// TestDownOfAnIsolatedLabGoesOnAfterErrors is the same for what a lab with CPUs of its own changes of the
// whole host. The other tests of such labs are for the virtual laboratory, where no nines with fault points
// is; this one runs alone, as all else gets one CPU less meanwhile.
func TestDownOfAnIsolatedLabGoesOnAfterErrors(t *testing.T) {
	labtest.Guarantee(t)
	labtest.QuietCore(t)
	labtest.Experiment(t)
	labtest.WholeHost(t)
	h, err := isolate.Find(isolate.CPUSet)
	labtest.Require(t, "cpusets of version 1", err == nil && h.Version == 1)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "two CPUs", len(inventory.AllowedCPUs) >= 2)
	const text = `
name: tbundoiso
isolation: isolated
topology:
  nodes: {a: {runtime: netns, cpus: 1}, b: {runtime: netns}}
  links: [{name: v, endpoints: ["a:v", "b:v"]}]
`
	before := traces.TakeSnapshot(t)
	c := New(t, text, text)
	c.undoneAfterErrors("tbundoiso", 5)
	if changes := before.Changes(traces.TakeSnapshot(t)); len(changes) > 0 {
		t.Errorf("the host has changed:\n%s", strings.Join(changes, "\n"))
	}
}

// TestDownNeedsNoRoom takes a lab down whose container has filled the disk with the labs' state.
// The file's host_teardown, which ends at its first failure, can write and does its work.
func TestDownNeedsNoRoom(t *testing.T) {
	labtest.Guarantee(t)
	c := newCrasherNamed(t, "tbcrashun")
	made := filepath.Join(t.TempDir(), "made")
	text, err := os.ReadFile(c.Whole)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, `
scripts:
  host_setup: |
    mkdir %[1]s
    true
  host_teardown: |
    set -e
    echo removing
    rmdir %[1]s
`, made)
	if err := os.WriteFile(c.Whole, text, 0o600); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	c.StateDir = filepath.Join(disk, "state")
	t.Setenv("NINES_STATE_DIR", c.StateDir)
	c.Run(0, "up", c.Whole)
	if code, said := c.try(nil, c.Nines, "exec", "c", "--", "dd", "if=/dev/zero", "of=/fill", "bs=1M"); code == 0 || !strings.Contains(said, "No space left") {
		t.Fatalf("the container did not fill the disk: exit code %d, %s", code, said)
	}
	if code, said := c.try(nil, c.Nines, "down", "tbcrashun"); code != 0 {
		t.Errorf("down on a full disk: exit code %d, %s", code, said)
		c.Run(0, "down", "tbcrashun")
	}
	c.Gone("down on a full disk")
	if _, err := os.Stat(made); err == nil {
		t.Error("host_teardown has not removed what host_setup made")
	}
}
