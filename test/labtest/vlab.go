package labtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// BootVariable is set in the virtual laboratory to the name of the boot that tests run
// in; test/vm sets it, and has the table of boots.
const BootVariable = "NINES_VLAB"

// The boots of the virtual laboratory. What they are made of is in test/vm/boots.
const (
	BootMain     = "main"     // Debian 12's kernel, control groups of version 2
	BootV1       = "v1"       // the same, version 1
	BootIsolated = "isolated" // the same, hybrid; isolcpus, nohz_full and rcu_nocbs of CPUs 2 and 3
	BootCloud    = "cloud"    // Debian 12's cloud kernel: no igb
	BootRT       = "rt"       // Debian 12's real-time kernel
	BootNew      = "new"      // Debian 13's kernel
	BootNewRT    = "newrt"    // Debian 13's real-time kernel, with isolcpus, nohz_full and rcu_nocbs
	BootVirtio   = "virtio"   // Debian 12's kernel, with two cards of virtio-net more
	BootNewVirt  = "newvirt"  // Debian 13's kernel, with those
)

// forTheLab begins what VirtualLab says elsewhere; test/vm reads the boots from it.
const forTheLab = "for the virtual laboratory, where make test-vm runs it: "

// VirtualLab is for tests that rearrange a whole host, or need what only the virtual
// laboratory has. `make test-vm` runs all tests whose name begins with TestLab in it, as
// root, in the boots that they name here (without a name, in BootMain), and fails if one
// has not run in each of them; `make test` runs a test only in the first of its boots that
// it starts. Elsewhere they are skipped: nothing is missing there. It comes first in a test, or after
// LongForm alone.
func VirtualLab(t testing.TB, boots ...string) {
	t.Helper()
	inLaboratory(t, "", boots)
}

// EveryKernel is VirtualLab for tests of what differs from kernel to kernel: `make test`
// too runs them in each of their boots.
func EveryKernel(t testing.TB, boots ...string) {
	t.Helper()
	inLaboratory(t, inEach, boots)
}

// inEach is what EveryKernel puts before the names of the boots.
const inEach = "each of "

func inLaboratory(t testing.TB, how string, boots []string) {
	t.Helper()
	if len(boots) == 0 {
		boots = []string{BootMain}
	}
	if boot := os.Getenv(BootVariable); boot == "" || !slices.Contains(boots, boot) {
		t.Skip(forTheLab + how + strings.Join(boots, " "))
	}
}

// Laboratory is for the tests of the virtual laboratory itself, on its host.
func Laboratory(t testing.TB) {
	t.Helper()
	if os.Getenv("NINES_TEST_VM") == "" {
		t.Skip(forTheLab + "on its host")
	}
}

// BootsOf reads in a test's output for which boots VirtualLab or EveryKernel skipped it,
// and whether it is to run in each of them always.
func BootsOf(output string) (boots []string, each bool) {
	_, after, _ := strings.Cut(output, forTheLab)
	line, _, _ := strings.Cut(after, "\n")
	line, each = strings.CutPrefix(line, inEach)
	return strings.Fields(line), each
}

// LeftPort and RightPort are the laboratory's two ports, joined by a cable:
//
//	eth0 (igb, 7 VFs) ──cable── eth1 (igb, 7 VFs)
const (
	LeftPort  = "eth0"
	RightPort = "eth1"
)
