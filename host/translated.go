package host

import (
	"os"
	"strings"
)

// Translated is true on a machine whose instructions QEMU translates (TCG), so that its
// timings mean nothing. The names of TCG's own CPU models show it (target/i386/cpu.c,
// max_x86_cpu_initfn); it cannot be seen in a guest with another CPU model.
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
