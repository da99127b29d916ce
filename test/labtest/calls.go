package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// undoCalls are system calls that an undo makes, by strace's names; one with "?" may be unknown to it.
var undoCalls = []string{
	"openat", "?openat2", "read", "write", "getdents64", "newfstatat", "readlinkat", "fallocate", "ftruncate", "flock", "renameat", "unlinkat",
	"umount2", "setns", "unshare", "socket", "connect", "sendto", "recvfrom", "bpf", "ioctl",
	"?pidfd_open", "?pidfd_send_signal", "kill", "wait4", "sched_setaffinity",
}

// callsOfEach is how many of the calls of a kind the long form lets fail, one at a time.
const callsOfEach = 4

// callErrors lets system calls of an undo fail, where undoErrors of fault points only come between its steps: in
// the short form its first removal of a file, in the long form some calls of each kind. strace counts the
// calls of each thread, so that a few threads may meet an error at once. The runtime of Go may end of one:
// that is a crash, after which the same must hold.
func (u Undone) callErrors(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("strace")
	Require(t, "strace", err == nil)
	trace := filepath.Join(t.TempDir(), "trace")
	strace := func(rules ...string) []string {
		return append([]string{"strace", "-f", "-qq", "--seccomp-bpf", "-o", trace}, rules...)
	}
	inject := func(call string, at int, number unix.Errno) (met bool) {
		name := unix.ErrnoName(number)
		rule := fmt.Sprintf("inject=%s:error=%s:when=%d", call, name, at)
		u.try(t, fmt.Sprintf("undo with %s at call %d of %s", name, at, call), nil, strace("-e", "trace="+call, "-e", rule))
		return strings.Contains(read(t, trace), "(INJECTED)")
	}
	if !Long() {
		if !inject("unlinkat", 1, unix.EIO) {
			t.Error("undo removes no file, so that no call failed")
		}
		return
	}
	if code, said := u.try(t, "undo under strace", nil, strace("-e", "trace="+strings.Join(undoCalls, ","))); code != 0 {
		t.Errorf("undo under strace exited with %d: %s", code, said)
		return
	}
	each := callsOfEach
	if u.Slow {
		each = 1
	}
	most := mostCalls(read(t, trace))
	tried, met := 0, 0
	for _, call := range undoCalls {
		call = strings.TrimPrefix(call, "?")
		for i := range min(each, most[call]) {
			at := (most[call]*(i+1) + each - 1) / each
			if inject(call, at, undoErrors[tried%len(undoErrors)]) {
				met++
			}
			tried++
		}
	}
	// Which thread makes which call is by chance.
	if met < tried/2 || met == 0 {
		t.Errorf("only %d of %d errors were met, of calls %v", met, tried, most)
	}
}

var tracedCall = regexp.MustCompile(`(?m)^(\d+) +(\w+)\(`)

// mostCalls are how many calls of each kind the thread made that made the most of it.
func mostCalls(trace string) map[string]int {
	type thread struct{ id, call string }
	of, most := map[thread]int{}, map[string]int{}
	for _, m := range tracedCall.FindAllStringSubmatch(trace, -1) {
		of[thread{m[1], m[2]}]++
		most[m[2]] = max(most[m[2]], of[thread{m[1], m[2]}])
	}
	return most
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
