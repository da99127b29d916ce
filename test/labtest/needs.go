package labtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// PassVariable is set by test/passes to the name of the pass that tests run in. Without
// it, as when one test is run by hand, none is put off to another pass.
const PassVariable = "NINES_PASS"

// PartVariable is set by test/passes to a number from 1 to Parts where several processes share the tests of a
// large package, another one in each that runs. They take turns at a name of a lab that several have (Named).
const PartVariable = "NINES_PART"

// Parts is how many processes that share the tests of a package run side by side at most.
const Parts = 4

// The passes in which the tests of this host run. Each runs what the one before has
// skipped because it lacked something that this one has.
const (
	PassPure  = "pure"  // as nobody in particular, packages side by side
	PassRoot  = "root"  // as root, packages side by side
	PassHost  = "host"  // as root, one test after another and no other lab beside them
	PassQuiet = "quiet" // as root, one test after another and nothing beside them
)

// LongVariable is set to let tests take their long form, as make test-all does.
const LongVariable = "NINES_LONG"

// What tests say when they are skipped: test/passes reads from it where they are to run.
const (
	forWantOf    = "missing: "
	forWholeHost = "for the host as a whole, where make test-host runs it"
	forQuietCore = "for a quiet core, where make test-quiet runs it"
	forLongForm  = "for the long form, where make test-all runs it"
	forOthers    = "for another test, which runs it in a process of its own"
	forBuilt     = "for where it is installed, as no package has it: "
)

// WholeExperiment and VirtualMachine are what is missing where Experiment and Machine skip a test.
const (
	WholeExperiment = "root, for a whole experiment"
	VirtualMachine  = "root, for a virtual machine"
)

// IsSlow tells of what a skipped test printed whether it runs experiments or boots a machine.
func IsSlow(output string) bool {
	return strings.Contains(output, forWantOf+WholeExperiment) || strings.Contains(output, forWantOf+VirtualMachine)
}

// Missing is what a skipped test lacked, as it told by Require; empty if it was skipped for another reason.
func Missing(output string) string {
	_, what, _ := strings.Cut(output, forWantOf)
	return strings.TrimSpace(what)
}

// Need is why a test was skipped.
type Need int

// What a test may need.
const (
	NeedUnknown  Need = iota // it did not say so by this package
	NeedThere                // what Require names: root, a program, a privilege
	NeedHost                 // WholeHost
	NeedQuiet                // QuietCore
	NeedLab                  // VirtualLab, Laboratory
	NeedLongForm             // LongForm
	NeedNone                 // OtherTest, Built
)

// NeedOf reads from what a skipped test printed what it needs.
func NeedOf(output string) Need {
	for _, known := range []struct {
		words string
		need  Need
	}{
		{forWholeHost, NeedHost}, {forQuietCore, NeedQuiet}, {forLongForm, NeedLongForm}, {forTheLab, NeedLab}, {forOthers, NeedNone}, {forBuilt, NeedNone}, {forWantOf, NeedThere},
	} {
		if strings.Contains(output, known.words) {
			return known.need
		}
	}
	return NeedUnknown
}

// QuietCore is for the few tests that measure time, and would find that of their
// neighbours. They run alone, after all others. It comes first in a test.
func QuietCore(t testing.TB) {
	t.Helper()
	if pass := os.Getenv(PassVariable); pass == PassPure || pass == PassRoot || pass == PassHost {
		t.Skip(forQuietCore)
	}
	if os.Geteuid() == 0 {
		takeTurn(t, alone)
	}
}

// WholeHost is for tests that rearrange what all labs of a host share (its CPUs, its
// hugepages, its settings), or see whether that is as it was: no other lab is tested
// meanwhile. They run after those that need not be alone, or each of them would wait until
// all others pause.
func WholeHost(t testing.TB) {
	t.Helper()
	if pass := os.Getenv(PassVariable); pass == PassPure || pass == PassRoot {
		t.Skip(forWholeHost)
	}
	takeTurn(t, alone)
}

// LongForm is for tests that only the long form has.
func LongForm(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip(forLongForm)
	}
}

// Long reports whether a test is to take its long form: all of the cases that are alike.
func Long() bool { return os.Getenv(LongVariable) != "" }

// Cases are all cases of a test in the long form, else the first few: as many as differ from
// each other, and from what other tests have.
func Cases[T any](few int, all []T) []T {
	if Long() {
		return all
	}
	return all[:few]
}

// Built is for tests with a program that has to be built by hand: they run where it is in
// PATH, and nobody has to have it.
func Built(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(forBuilt + program)
	}
}

// OtherTest is for what only looks like a test: the part of another one that runs in a
// process of its own, if that has asked for it.
func OtherTest(t testing.TB, asked bool) {
	t.Helper()
	if !asked {
		t.Skip(forOthers)
	}
}

// Installed reports whether a program is in PATH.
func Installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
