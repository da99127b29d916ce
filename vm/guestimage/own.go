package guestimage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// Own opens a folder of a store to remove things in it: dir, or the one at the end of a path below it. It
// refuses one in which others may have put something: where a symbolic link leads to it, or another user
// may write. Root may remove what a user keeps.
func Own(dir string, below ...string) (*os.Root, error) {
	at, path := unix.AT_FDCWD, ""
	for _, name := range append([]string{dir}, below...) {
		path = filepath.Join(path, name)
		next, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at != unix.AT_FDCWD {
			_ = unix.Close(at)
		}
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			return nil, foreign(path, "a symbolic link, or a file")
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		if err := checkOwner(next, path); err != nil {
			_ = unix.Close(next)
			return nil, err
		}
		at = next
	}
	defer unix.Close(at)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", at))
}

func checkOwner(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	self := os.Geteuid()
	if self != 0 && int(st.Uid) != self {
		return foreign(path, fmt.Sprintf("a folder of the user with ID %d", st.Uid))
	}
	if st.Mode&0o022 != 0 {
		return foreign(path, fmt.Sprintf("a folder to which others may write (mode %04o)", st.Mode&0o7777))
	}
	return nil
}

func foreign(path, what string) error {
	return exit.Wrongf("%s is %s, not a folder made by nines; nines removes nothing there; move it elsewhere, or set NINES_CACHE_DIR to another folder", path, what)
}
