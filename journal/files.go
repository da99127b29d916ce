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
	// KindTree is a directory, Path, that only nines writes to, removed with everything in it.
	KindTree = Register("tree", Undo{Step: removeTree, Lasting: true})
	// KindSymlink is a symbolic link, Path to Target.
	KindSymlink = Register("symlink", Undo{Step: removeSymlink, Lasting: true})
)

// Inode returns the inode of the path itself, not of a link's target; 0 if it is absent. A path that cannot be
// checked is not absent: if we took it for absent and journalled it as ours, undo could remove a file of
// another program.
func Inode(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return 0, nil
	}
	if err != nil {
		return 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st.Ino, nil
}

// Learn returns what the journal stores of a file or directory that was made.
func Learn(path string) (Learnt, error) {
	inode, err := Inode(path)
	return Learnt{Inode: inode}, err
}

func removeDirectory(_ context.Context, u Undoing) error {
	if replaced, err := isReplaced(u); replaced || err != nil {
		return err
	}
	err := unix.Rmdir(u.Path)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case u.Unended: // our own processes may still use it
		return err
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOTDIR):
		// Other programs use it now.
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

// isReplaced notes if a step's path now has another directory or file than the step made.
func isReplaced(u Undoing) (bool, error) {
	inode, err := Inode(u.Path)
	if err != nil || inode == 0 || u.Learnt == nil || u.Learnt.Inode == 0 || u.Learnt.Inode == inode {
		return false, err
	}
	u.Notef("%s was replaced by another program; left as it is", u.Path)
	return true, nil
}

func removeSymlink(_ context.Context, u Undoing) error {
	target, err := os.Readlink(u.Path)
	if err == nil && target != u.Target {
		u.Notef("%s now points to another path; left as it is", u.Path)
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
