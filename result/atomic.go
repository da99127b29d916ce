package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// content is a file to write.
type content struct {
	name  string
	write func(io.Writer) error
}

// writeAtomic makes the files of a folder appear whole or not at all: it writes temporary files next
// to them, flushes these to the disk, then renames them in the given order. All are written before
// the first rename, so a full disk leaves the old files. On failure it names the file that could not
// be written.
func writeAtomic(dir *os.Root, mode fs.FileMode, files ...content) (failed string, err error) {
	temporary := func(name string) string { return "." + name + ".tmp" }
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = dir.Remove(temporary(f.name)) // renamed ones are gone already
			}
		}
	}()
	for _, f := range files {
		if err := writeFile(dir, temporary(f.name), mode, f.write); err != nil {
			return f.name, err
		}
	}
	for _, f := range files {
		if err := dir.Rename(temporary(f.name), f.name); err != nil {
			return f.name, err
		}
	}
	return files[0].name, syncDir(dir, ".")
}

// writeFile writes and flushes a new file; on failure it removes the partial file, so that a full
// disk gets its space back. What has the name already is removed, not opened: in a folder from
// someone else it may be a symbolic link to any file of this host.
func writeFile(dir *os.Root, path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	if err := dir.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := dir.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = dir.Remove(path) // the write's error is the one to report
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}

// syncDir flushes a folder's entries, without which a rename may not survive a power failure
// (fsync(2), "does not necessarily ensure that the entry in the directory … has also reached
// disk").
func syncDir(root *os.Root, path string) error {
	dir, err := root.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) { // file systems without support, such as some FUSE ones
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// replaceSymlink points link at target by a rename, so that link always points somewhere.
func replaceSymlink(target, link string) error {
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("%s is in the way: it is not a symbolic link; rename it", link)
	}
	temporary := fmt.Sprintf("%s.%d.tmp", link, os.Getpid())
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, link); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}
