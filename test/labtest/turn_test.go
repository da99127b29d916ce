package labtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// turnVariable says what the process that a test below starts does.
const turnVariable = "NINES_TEST_TURN"

// TestNobodyWaitsForWhoWaits: one process has the hugepages and then wants the host for itself,
// while another builds labs and then wants the hugepages. Both get what they want.
func TestNobodyWaitsForWhoWaits(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // locks of their own
	start := func(who string) (*exec.Cmd, *os.File, *os.File) {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestTakesTurns$")
		cmd.Env = append(os.Environ(), turnVariable+"="+who)
		hear, say, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		tell, goOn, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin, cmd.ExtraFiles = tell, []*os.File{say}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		_, _ = say.Close(), tell.Close()
		return cmd, hear, goOn
	}
	one, oneSays, oneGoes := start("pages alone")
	other, otherSays, otherGoes := start("beside pages")
	for _, says := range []*os.File{oneSays, otherSays} {
		if _, err := says.Read(make([]byte, 1)); err != nil {
			t.Fatalf("it did not take its first turn: %v", err)
		}
	}
	// Both have their first; now each wants its second.
	_, _ = oneGoes.Close(), otherGoes.Close()
	stuck := time.AfterFunc(time.Minute, func() { _, _ = one.Process.Kill(), other.Process.Kill() })
	defer stuck.Stop()
	for _, cmd := range []*exec.Cmd{one, other} {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: it waited for ever, or failed", err)
		}
	}
}

func TestTakesTurns(t *testing.T) {
	who := os.Getenv(turnVariable)
	OtherTest(t, who != "")
	if strings.HasPrefix(who, "pages") {
		// As two packages.
		started += "/one"
		takeTurn(t, beside)
		Hugepages(t)
	} else {
		takeTurn(t, beside)
	}
	if _, err := os.NewFile(3, "says").Write([]byte("1")); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is closed
	if strings.HasPrefix(who, "pages") {
		takeTurn(t, alone)
	} else {
		Hugepages(t)
	}
}
