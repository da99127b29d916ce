package vlab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stage puts a file or a folder below another: as links where it can, as the copy is
// only read, to make a disk of it. Links to elsewhere stay links. The folder that the
// target is in is left out, for a source such as /tmp has it in it.
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

// copyFile is for another file system, where there can be no link.
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
