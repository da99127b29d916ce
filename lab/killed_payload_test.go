package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// killedLab has a node whose first process takes memory when it is told to, and one whose first process makes a system
// call that its own seccomp filter forbids.
//
//	hungry:x ──veth── forbidden:x
const killedLab = `
name: tbkilledby
topology:
  nodes:
    hungry: {runtime: oci, driver: runc, image: %[1]q, command: [sh, -c, %[2]q], memory: 64MiB, mounts: [{source: %[4]q, target: /attack}]}
    forbidden: {runtime: oci, driver: runc, image: %[1]q, command: [sh, -c, %[3]q], mounts: [{source: %[4]q, target: /attack}]}
  links:
    - {name: pair, kind: veth, endpoints: ["hungry:x", "forbidden:x"]}
`

// TestWhatKilledAPayloadIsSaid by the kernel's own records: the signal, the memory that had run out, the system call.
func TestWhatKilledAPayloadIsSaid(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	log, err := os.Open("/dev/kmsg")
	labtest.Require(t, "a readable kernel log", err == nil)
	_ = log.Close()
	labtest.Require(t, "no auditd, which takes records of seccomp from the kernel's log", exec.Command("pidof", "auditd").Run() != nil)
	// The first process waits, as a lab whose node ends at once does not come up.
	then := func(what string) string {
		return "while [ ! -e /tmp/go ]; do sleep 0.05; done; exec /attack " + what
	}
	lab := up(t, fmt.Sprintf(killedLab, labs.OCIImage(t, v1.Config{Cmd: []string{"false"}}), then("memory"), then("forbidden"), labtest.Attack(t)))
	// problemOf is what is wrong with a node; empty for nothing.
	problemOf := func(node string) string {
		parts, err := lab.Check()
		if err != nil {
			t.Fatal(err)
		}
		return parts[slices.IndexFunc(parts, func(c Checked) bool { return c.Part == "node "+node })].Problem
	}
	if one, other := problemOf("hungry"), problemOf("forbidden"); one+other != "" {
		t.Fatalf("before: %q, %q", one, other)
	}
	for node, want := range map[string]struct{ signal, record string }{
		"hungry":    {"SIGKILL", "emory cgroup out of memory: Killed process"},
		"forbidden": {"SIGSYS", "a seccomp filter ended it at the system call 170"}, // sethostname on x86-64
	} {
		command, err := lab.Command(context.Background(), node, []string{"touch", "/tmp/go"}, running.ExecOptions{})
		if err == nil {
			err = command.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		// A thread of the kernel writes what it audits into its log, a moment later.
		labtest.Eventually(t, node+" is told as dead, with "+want.record, func() bool {
			said = problemOf(node)
			return strings.Contains(said, "is dead") && strings.Contains(said, want.record)
		})
		// The signal is known until someone reaps the process.
		if strings.Contains(said, "ended by ") && !strings.Contains(said, "ended by "+want.signal) {
			t.Errorf("%s: %q, want %q", node, said, want.signal)
		}
		t.Logf("%s: %s", node, said)
	}
}
