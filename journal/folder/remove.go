package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
)

// Empty deletes what nines has written into the folder, except the journal and the lock. note receives
// what else is there and stays.
func (f *Folder) Empty(note func(string)) error {
	names, err := f.names()
	if err != nil {
		return fmt.Errorf("read the folder of %s: %w", f.What, err)
	}
	for _, name := range names {
		if name != f.Lock && !slices.Contains(journalNames, name) && !slices.Contains(f.Written, name) {
			note(filepath.Join(f.Path(), name) + " was not made by nines; left as it is")
		}
	}
	return f.Delete(f.Written)
}

// Delete deletes some of what nines has written.
func (f *Folder) Delete(names []string) error {
	if err := errors.Join(fault.Fail("before emptying the folder"), f.checkMounts()); err != nil {
		return err
	}
	for _, name := range names {
		if err := f.root.RemoveAll(name); err != nil {
			return fmt.Errorf("empty the folder of %s: %w", f.What, f.located(err))
		}
	}
	return nil
}

// checkMounts fails if a file system is mounted below the folder: its content is not ours. The owner's own
// mounts are in its mount namespaces, and disappear with them.
func (f *Folder) checkMounts() error {
	path, err := filepath.EvalSymlinks(f.Path()) // as the kernel names it
	if err != nil {
		return err
	}
	below, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, path+"/"), false
	})
	if err != nil {
		return fmt.Errorf("read mounts: %w", err)
	}
	if len(below) > 0 {
		return fmt.Errorf("a file system that nines did not mount is at %s; unmount it, then %s", below[0].Mountpoint, f.Again)
	}
	return nil
}

// Remove deletes the folder: the journal after everything that it may refer to, and the lock last, so that
// no other program takes a half-removed folder. A folder with other content stays.
func (f *Folder) Remove(note func(string)) error {
	if err := f.Empty(note); err != nil {
		return err
	}
	for _, name := range append(slices.Clone(journalNames), f.Lock) {
		if name == "" {
			continue
		}
		err := fault.Fail("before removing the folder")
		if err == nil {
			err = f.located(absentIsFine(f.root.Remove(name)))
		}
		if err != nil {
			return fmt.Errorf("remove the folder of %s: %w", f.What, err)
		}
	}
	err := absentIsFine(os.Remove(f.Path()))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil // other content, which note has already received
	}
	if err != nil {
		return fmt.Errorf("remove the folder of %s: %w", f.What, err)
	}
	return nil
}

// located gives an error about a name in the folder its whole path.
func (f *Folder) located(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) && !filepath.IsAbs(named.Path) {
		named.Path = filepath.Join(f.Path(), named.Path)
	}
	return err
}

func absentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
