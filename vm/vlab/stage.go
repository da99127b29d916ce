package vlab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stage puts a file or a folder below another, to make a disk of it: as hard links where
// possible, since the copy is only read. Symbolic links stay links. It leaves out the
// folder of the target, in case the source contains it, as /tmp does.
func stage(source, target string) error {
	source, err := filepath.EvalSymlinks(source)
	if err != nil {
		return fmt.Errorf("copy into the laboratory: %w", err)
	}
	tree, err := filepath.EvalSymlinks(filepath.Dir(target))
	if err != nil {
		return fmt.Errorf("copy into the laboratory: %w", err)
	}
	return filepath.WalkDir(source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == tree {
			return filepath.SkipDir
		}
		below, err := filepath.Rel(source, name)
		if err != nil {
			return err
		}
		to := filepath.Join(target, below)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsDir():
			return os.Mkdir(to, mode.Perm()|0o700)
		case mode&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, to)
		case mode.IsRegular():
			if os.Link(name, to) == nil {
				return nil
			}
			return copyFile(name, to, mode.Perm())
		}
		return nil
	})
}

// copyFile copies where no hard link is possible, on another file system.
func copyFile(from, to string, mode fs.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
