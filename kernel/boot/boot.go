// Package boot tells one boot of the kernel from another: processes, devices, control
// groups and most settings of an earlier boot are gone, and records of them are void.
package boot

import (
	"os"
	"strings"
)

// ID is the boot ID, /proc/sys/kernel/random/boot_id (random(4)).
func ID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}
