package vm

import "strings"

// StaleCode is true if a console says that QEMU, and not the kernel or a program, ended the
// guest. The kernel patches its code behind a breakpoint (text_poke_bp_batch,
// arch/x86/kernel/alternative.c), as when a tracepoint is attached. QEMU may run on what it
// had translated while the breakpoint was there, and the kernel, which has taken it away,
// panics on it: "qemu-x86_64 booting with 8.0.0 stil see int3", linux-kernel, July 2023,
// once in hundreds of boots.
func StaleCode(console string) bool {
	return strings.Contains(console, "int3: 0000 [#1]") && strings.Contains(console, "Kernel panic")
}
