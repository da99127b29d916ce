package journal

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The kinds of files.
var (
	// KindDirectory is a directory, Path, removed if it is empty.
	KindDirectory = Register("directory", Undo{Step: removeDirectory, Lasting: true})
	// KindTree is a directory, Path, that only nines writes to, removed with all in it.
	KindTree = Register("tree", Undo{Step: removeTree, Lasting: true})
	// KindSymlink is a symbolic link, Path to Target.
	KindSymlink = Register("symlink", Undo{Step: removeSymlink, Lasting: true})
)

// Inode is the inode of the path itself, not of a link's target; 0 if it is absent.
func Inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

func removeDirectory(_ context.Context, u Undoing) error {
	if replaced, err := isReplaced(u); replaced || err != nil {
		return err
	}
	err := unix.Rmdir(u.Path)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOTDIR):
		// Others use it now.
		return nil
	}
	return err
}

func removeTree(_ context.Context, u Undoing) error {
	if replaced, err := isReplaced(u); replaced || err != nil {
		return err
	}
	return os.RemoveAll(u.Path)
}

// isReplaced notes that a step's path now has another directory or file than the step made.
func isReplaced(u Undoing) (bool, error) {
	var st unix.Stat_t
	err := unix.Lstat(u.Path, &st)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "lstat", Path: u.Path, Err: err}
	}
	if u.Learnt == nil || u.Learnt.Inode == 0 || u.Learnt.Inode == st.Ino {
		return false, nil
	}
	u.Notef("%s was replaced by another program; left as it is", u.Path)
	return true, nil
}

func removeSymlink(_ context.Context, u Undoing) error {
	target, err := os.Readlink(u.Path)
	if err == nil && target != u.Target {
		u.Notef("%s leads elsewhere now; left as it is", u.Path)
		return nil
	}
	if err == nil {
		err = os.Remove(u.Path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
