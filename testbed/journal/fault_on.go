//go:build faultpoint

package journal

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var faultsSeen atomic.Int64

// faultPoint kills the process at the n-th point that it passes, n being in the
// environment as NINES_FAULT_AT: the crash test's way to die at every step.
func faultPoint(where string) {
	at, err := strconv.ParseInt(os.Getenv("NINES_FAULT_AT"), 10, 64)
	if err != nil || faultsSeen.Add(1) != at {
		return
	}
	fmt.Fprintf(os.Stderr, "fault point %d: %s\n", at, where)
	_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	select {}
}
