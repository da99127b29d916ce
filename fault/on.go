//go:build faultpoint

package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

var (
	mu   sync.Mutex
	seen int64
)

// Point kills the process if this is the point that NINES_FAULT_AT counts to.
func Point(moment string, kind ...string) {
	mu.Lock()
	defer mu.Unlock()
	seen++
	where := strings.Join(append([]string{moment}, kind...), "\t")
	if path := os.Getenv("NINES_FAULT_LIST"); path != "" {
		list(path, where)
	}
	at, err := strconv.ParseInt(os.Getenv("NINES_FAULT_AT"), 10, 64)
	if err != nil || seen != at {
		return
	}
	fmt.Fprintf(os.Stderr, "fault point %d: %s\n", at, where)
	_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	select {}
}

// list appends a point to the file of points passed.
func list(path, where string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, where)
		_ = file.Close()
	}
	if err != nil {
		panic(err) // otherwise tests would take few points for all
	}
}
