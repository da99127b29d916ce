package doctor

import (
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/host"
)

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func orUnread(value, otherwise string) string { return choose(value == "", otherwise, value) }

func contains(cpus []int, id int) bool { return slices.Contains(cpus, id) }

// duration formats a time of whole milliseconds, or of one second.
func duration(d time.Duration) string {
	if d == time.Second {
		return "a second"
	}
	return microseconds(float64(d.Microseconds()))
}

// seconds formats "every n seconds".
func seconds(n int) string {
	if n == 1 {
		return "every second"
	}
	return fmt.Sprintf("every %d seconds", n)
}

// debianArch is Debian's name of the machine's architecture, as in the names of kernel
// packages.
func debianArch(inv *host.Inventory) string {
	switch inv.Kernel.Machine {
	case "aarch64":
		return "arm64"
	default:
		return "amd64"
	}
}
