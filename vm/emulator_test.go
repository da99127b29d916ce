package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAGuestThatQEMUEndedIsToldFromOneThatPanicked(t *testing.T) {
	for console, want := range map[string]bool{
		"[  419.7] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n[  419.8] Kernel panic - not syncing: Fatal exception in interrupt": true,
		"[    3.0] int3: 0000 [#1] PREEMPT SMP NOPTI\n[    3.1] Kernel panic - not syncing: Fatal exception":                    true,
		"[  419.7] Oops: 0002 [#1] PREEMPT SMP NOPTI\n[  419.8] Kernel panic - not syncing: Fatal exception in interrupt":       false,
		"int3: 0000 [#1] of a program, which the guest outlives":                                                                false,
	} {
		if got := StaleCode(console); got != want {
			t.Errorf("%t: %s", got, console)
		}
	}
}

// TestThePanicOfStaleCodeIsSeenPastItsRegisters: between the fault that names the cause and the panic are dozens of
// lines.
func TestThePanicOfStaleCodeIsSeenPastItsRegisters(t *testing.T) {
	console := filepath.Join(t.TempDir(), "console")
	registers := strings.Repeat("[    4.7] RAX: 0000000000000000 RBX: 0000000000000000\r\n", 60)
	text := "[    0.1] Linux\r\n[    4.7] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\r\n" + registers + "[    4.7] Kernel panic - not syncing: Fatal exception in interrupt\r\n[    4.7] Kernel Offset: 0x1\r\n"
	if err := os.WriteFile(console, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if end := consoleEnd(console); !StaleCode(end) || strings.Count(end, "\n") != 2 {
		t.Errorf("the console's end is %q", end)
	}
}
