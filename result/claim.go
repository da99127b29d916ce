package result

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// InUseError means that a result is being written.
type InUseError struct{ Dir string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s: a nines is writing this result; wait for its end, or end it with Ctrl-C", e.Dir)
}

// Claim reserves an open result folder for the caller until it is closed: whoever writes a result
// claims it, so that nobody removes or continues it meanwhile. The claim is a kernel lock on the
// folder itself (flock(2)): it ends with the process in any case, and leaves no file. On a file
// system without such locks every claim succeeds.
func Claim(folder *os.File) error {
	raw, err := folder.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	if err := raw.Control(func(fd uintptr) { locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }); err != nil {
		return err
	}
	if errors.Is(locked, syscall.EWOULDBLOCK) {
		return &InUseError{Dir: folder.Name()}
	}
	return nil
}

// claimed opens a folder and claims it.
func claimed(dir string) (*os.File, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := Claim(folder); err != nil {
		_ = folder.Close()
		return nil, err
	}
	return folder, nil
}
