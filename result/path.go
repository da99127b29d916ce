package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Path is the path of a trial's file, below the result folder and on this machine; if it does not
// exist, the error wraps fs.ErrNotExist. It is never outside the result folder: symbolic links are
// refused.
func (f Folder) Path(name string) (below, path string, err error) {
	if !safeID(f.id) || !safeID(name) {
		return "", "", fmt.Errorf("%q of trial %q is not a file of a trial", name, f.id)
	}
	below, path = filepath.Join(f.below, f.id, name), filepath.Join(f.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is not a plain file", below)
	}
	return below, path, nil
}

// LargestFile is the largest size in bytes of a result's file that is read at once; a summary of
// 100,000 trials has about 200 MB. Reading takes some times as much memory.
const LargestFile = 256 << 20

// readPlain reads a file of a result that may come from someone else: it refuses a pipe, which
// would block for ever, a device, a link out of the folder, and a size that exceeds memory.
func readPlain(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	refused := func(why string) error { return &fs.PathError{Op: "read", Path: path, Err: errors.New(why)} }
	if !info.Mode().IsRegular() {
		return nil, refused("it is not a regular file")
	}
	if info.Size() > LargestFile {
		return nil, refused(fmt.Sprintf("it has %d bytes, too many for what nines writes", info.Size()))
	}
	return os.ReadFile(path)
}
