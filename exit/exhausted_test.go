package exit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestWhatHasRunOutIsNoMissingFeature: the error says so, and its exit code does.
func TestWhatHasRunOutIsNoMissingFeature(t *testing.T) {
	for errno, remedy := range exhausted {
		err := &MissingError{Capability: "io_uring", Reason: "the kernel has none", Remedy: "use another",
			Err: fmt.Errorf("try it: %w", os.NewSyscallError("io_uring_setup", errno))}
		text := err.Error()
		if strings.Contains(text, "lacks") || !strings.Contains(text, remedy) || Code(err) != Failed || !IsExhausted(err) {
			t.Errorf("%v: %q, exit code %d", errno, text, Code(err))
		}
	}
	for _, other := range []error{nil, errors.New("x"), syscall.ENOSYS, syscall.EPERM} {
		err := &MissingError{Capability: "io_uring", Reason: "the kernel has none", Err: other}
		if text := err.Error(); !strings.HasPrefix(text, "this host lacks io_uring") || Code(err) != Lacks || IsExhausted(err) {
			t.Errorf("%v: %q, exit code %d", other, text, Code(err))
		}
	}
}
