package result

import (
	"fmt"
	"os"
	"path/filepath"
)

// Path is where a file of the trial is, below the result folder and on this machine;
// an error that wraps fs.ErrNotExist where it is not there. It is never outside of the
// result folder: a file that is a symbolic link is refused.
func (f Folder) Path(name string) (below, path string, err error) {
	if !safeID(f.id) || !safeID(name) {
		return "", "", fmt.Errorf("%q of trial %q is no file of a trial", name, f.id)
	}
	below, path = filepath.Join(f.below, f.id, name), filepath.Join(f.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is no plain file", below)
	}
	return below, path, nil
}
