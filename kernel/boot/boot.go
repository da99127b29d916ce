// Package boot tells one boot of the kernel from another: processes, devices, control
// groups and most settings of an earlier one are gone, and what was noted of them is void.
package boot

import (
	"os"
	"strings"
)

// ID is the id of this boot, /proc/sys/kernel/random/boot_id (random(4)).
func ID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}
