package exit

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestWhatIsForbiddenIsNotMissing: only of other errors the host is said to lack something.
func TestWhatIsForbiddenIsNotMissing(t *testing.T) {
	for errno, lacks := range map[syscall.Errno]bool{syscall.EPERM: false, syscall.EACCES: false, syscall.ENOENT: true, syscall.EOPNOTSUPP: true} {
		tried := &os.PathError{Op: "open", Path: "/dev/net/tun", Err: errno}
		err := Lacking(&MissingError{Capability: "tun", Reason: "it cannot be opened", Remedy: "modprobe tun", Err: tried})
		code := Failed
		if lacks {
			code = Lacks
		}
		if Code(err) != code || strings.Contains(err.Error(), "lacks") != lacks || !errors.Is(err, errno) {
			t.Errorf("%v: %v, exit code %d", errno, err, Code(err))
		}
	}
}
