package vm

import (
	"strings"
	"testing"
)

// staleCode is true if a console says that QEMU, and not the kernel or a test, ended the
// guest. The kernel patches its code behind a breakpoint (text_poke_bp_batch,
// arch/x86/kernel/alternative.c), as when a tracepoint is attached. QEMU may run on what it
// had translated while the breakpoint was there, and the kernel, which has taken it away,
// panics on it: "qemu-x86_64 booting with 8.0.0 stil see int3", linux-kernel, July 2023,
// once in hundreds of boots.
func staleCode(console string) bool {
	return strings.Contains(console, "int3: 0000 [#1]") && strings.Contains(console, "Kernel panic")
}

func TestAGuestThatQEMUEndedIsToldFromOneThatPanicked(t *testing.T) {
	for console, want := range map[string]bool{
		"[  419.7] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n[  419.8] Kernel panic - not syncing: Fatal exception in interrupt": true,
		"[    3.0] int3: 0000 [#1] PREEMPT SMP NOPTI\n[    3.1] Kernel panic - not syncing: Fatal exception":                    true,
		"[  419.7] Oops: 0002 [#1] PREEMPT SMP NOPTI\n[  419.8] Kernel panic - not syncing: Fatal exception in interrupt":       false,
		"int3: 0000 [#1] of a program, which the guest outlives":                                                                false,
	} {
		if got := staleCode(console); got != want {
			t.Errorf("%t: %s", got, console)
		}
	}
}
