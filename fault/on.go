//go:build faultpoint

package fault

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var seen atomic.Int64

// Point kills the process if it is the one that NINES_FAULT_AT counts to.
func Point(where string) {
	at, err := strconv.ParseInt(os.Getenv("NINES_FAULT_AT"), 10, 64)
	if err != nil || seen.Add(1) != at {
		return
	}
	fmt.Fprintf(os.Stderr, "fault point %d: %s\n", at, where)
	_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	select {}
}
