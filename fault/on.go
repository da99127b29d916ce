//go:build faultpoint

package fault

import (
	"fmt"
	"io/fs"
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
	if p := pass(moment, kind); p.reached && os.Getenv("NINES_FAULT_ERRORS") == "" {
		p.kill()
	}
}

// Fail is a Point that may also be an error: with NINES_FAULT_ERRORS the process is not killed, but
// gets one of these error numbers, which commas part. If NINES_FAULT_AT is "all", each such point
// is an error.
func Fail(moment string, kind ...string) error {
	p := pass(moment, kind)
	numbers := strings.Split(os.Getenv("NINES_FAULT_ERRORS"), ",")
	switch {
	case !p.reached && os.Getenv("NINES_FAULT_AT") != "all":
		return nil
	case numbers[0] == "":
		p.kill()
	}
	number, err := strconv.Atoi(numbers[int(p.number)%len(numbers)])
	if err != nil {
		panic(err)
	}
	return &fs.PathError{Op: "fault", Path: strings.ReplaceAll(p.where, "\t", " "), Err: unix.Errno(number)}
}

// passed is a point that was passed.
type passed struct {
	number  int64
	where   string
	reached bool // NINES_FAULT_AT counts to it
}

func pass(moment string, kind []string) passed {
	mu.Lock()
	defer mu.Unlock()
	seen++
	where := strings.Join(append([]string{moment}, kind...), "\t")
	if path := os.Getenv("NINES_FAULT_LIST"); path != "" {
		list(path, where)
	}
	at, err := strconv.ParseInt(os.Getenv("NINES_FAULT_AT"), 10, 64)
	return passed{seen, where, err == nil && seen == at}
}

func (p passed) kill() {
	fmt.Fprintf(os.Stderr, "fault point %d: %s\n", p.number, p.where)
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
