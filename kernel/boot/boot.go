// Package boot tells one boot of the kernel from another: processes, devices, control
// groups and most settings of an earlier boot are gone, and records of them are void.
package boot

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// known is the ID once it was read: a process sees only one boot.
var known atomic.Pointer[string]

// ID is the boot ID, /proc/sys/kernel/random/boot_id (random(4)). Without it nobody may take
// a record for one of an earlier boot: what that names would be forgotten while it is there.
func ID() (string, error) {
	if id := known.Load(); id != nil {
		return *id, nil
	}
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identify this boot: %w; try again when it can be read", err)
	}
	id := strings.TrimSpace(string(text))
	known.Store(&id)
	return id, nil
}
