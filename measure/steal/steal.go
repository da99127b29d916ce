// Package steal reads how long a hypervisor ran something else on this machine's CPUs.
package steal

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat: USER_HZ is 100 on every architecture that nines runs on
// (include/asm-generic/param.h).
const tick = 10 * time.Millisecond

// Read returns the steal time of each CPU since boot: field 8 after its name in /proc/stat
// (Documentation/filesystems/proc.rst). root is "/" or a recorded one.
func Read(root string) (map[int]time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(root, "proc/stat"))
	if err != nil {
		return nil, fmt.Errorf("read the CPUs' steal time: %w", err)
	}
	steal := map[int]time.Duration{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			continue // the total of all CPUs
		}
		ticks, err := strconv.ParseInt(fields[8], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the steal time of CPU %d: %w", cpu, err)
		}
		steal[cpu] = time.Duration(ticks) * tick
	}
	return steal, nil
}
