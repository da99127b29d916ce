package analyze

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"

	"nines.dev/nines/exit"
)

// packetBytes is about what a packet takes in memory in the end: times, entries for matching,
// arrivals, the order of a file that is not in order, flows.
const packetBytes = 64

// allowance is how many packets of both captures together the host has memory for. A capture may be
// someone else's, and a host out of memory kills other programs first.
type allowance struct {
	packets   atomic.Int64
	available int64 // bytes at the start; 0: unknown, and so without a limit
}

// newAllowance leaves a quarter of the memory that is available to everything else.
func newAllowance(available int64) *allowance {
	a := &allowance{available: available}
	a.packets.Store(available / 4 * 3 / packetBytes)
	return a
}

// take takes room for some packets more.
func (a *allowance) take(path string, packets int) error {
	if a.available == 0 || a.packets.Add(-int64(packets)) >= 0 {
		return nil
	}
	return exit.Lacksf("%s: the two captures need more memory than this host has free (%d MB were free, and a packet takes %d bytes); cut them with editcap -A and -B, and evaluate the parts, or evaluate them on a larger host",
		path, a.available>>20, packetBytes)
}

// availableMemory is MemAvailable of proc(5), the kernel's estimate of what programs can take
// without swapping; 0 if it cannot be read.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, after, found := bytes.Cut(text, []byte("MemAvailable:"))
	var kilobytes int64
	if !found {
		return 0
	} else if _, err := fmt.Sscan(string(after), &kilobytes); err != nil {
		return 0
	}
	return kilobytes << 10
}
