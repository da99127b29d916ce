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
	return fmt.Sprintf("%s: another nines is writing this result; wait for its end, or stop it with Ctrl-C", e.Dir)
}

// Claim reserves an open result folder for the caller until it is closed. A writer of a result
// claims it, so that no other process removes or continues it meanwhile. The claim is a kernel lock on the
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

// claimed opens a folder and claims it. Writes go through the root, which follows no symbolic link
// out of the folder; the claim lasts until the file is closed.
func claimed(dir string) (root *os.Root, folder *os.File, err error) {
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, nil, err
	}
	if folder, err = root.Open("."); err == nil {
		if err = Claim(folder); err == nil {
			return root, folder, nil
		}
		_ = folder.Close()
	}
	_ = root.Close()
	if inUse := new(InUseError); errors.As(err, &inUse) {
		inUse.Dir = dir
	}
	return nil, nil, err
}
