package host

import (
	"os"
	"strings"
)

// Translated is true on a machine whose instructions QEMU translates (TCG), so that its
// timings mean nothing. TCG's own CPU models say so by their name (target/i386/cpu.c,
// max_x86_cpu_initfn); a guest that was given another model cannot be told.
func Translated() bool {
	text, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && translated(string(text))
}

func translated(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return strings.HasPrefix(strings.TrimSpace(value), "QEMU TCG CPU")
		}
	}
	return false
}
