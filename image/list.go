package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/flock"
)

// List is every name in the store, sorted.
func (s Store) List() ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.Dir, namesFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, file := range files {
		name, found := strings.CutSuffix(file.Name(), ".json")
		if !found {
			continue
		}
		entry, err := s.Named(name)
		if err != nil {
			return nil, err
		}
		list = append(list, entry)
	}
	return list, nil
}

// Remove removes names, and then the images that no name means any more.
func (s Store) Remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := os.Lstat(s.nameFile(name)); err != nil || filepath.Base(name) != name {
			return exit.Wrongf("there is no image %q; nines image ls lists those that are there", name)
		}
	}
	for _, name := range names {
		if err := os.Remove(s.nameFile(name)); err != nil {
			return err
		}
	}
	return s.Prune(ctx)
}

// Prune removes the images without a name, what killed builds have left, and all unpacked images, but none whose files a container
// has for its root: they are unpacked again when a node wants them.
func (s Store) Prune(ctx context.Context) error {
	entries, err := s.List()
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, e := range entries {
		kept[digestName(e.Digest)] = true
	}
	if err := s.prune(ctx, layoutsFolder, func(name string) bool { return kept[name] }); err != nil {
		return err
	}
	if err := s.pruneBuilds(); err != nil {
		return err
	}
	used, err := mounted()
	if err != nil {
		return err
	}
	return s.prune(ctx, unpackedFolder, func(name string) bool {
		return strings.Contains(used, filepath.Join(unpackedFolder, name))
	})
}

// prune removes the whole images of a folder, each below its lock.
func (s Store) prune(ctx context.Context, folder string, keep func(name string) bool) error {
	dirs, err := os.ReadDir(filepath.Join(s.Dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		name := dir.Name()
		if !dir.IsDir() || strings.Contains(name, ".") || keep(name) {
			continue
		}
		if err := s.remove(ctx, filepath.Join(s.Dir, folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a whole image. It loses its name first, so that none is ever there in part.
func (s Store) remove(ctx context.Context, dir string) error {
	lock, err := flock.Wait(ctx, dir+".lock")
	if err != nil {
		return err
	}
	gone := dir + ".unfinished"
	err = os.RemoveAll(gone)
	if err == nil {
		err = os.Rename(dir, gone)
	}
	if err == nil {
		err = os.RemoveAll(gone)
	}
	if errors.Is(err, fs.ErrNotExist) { // another has removed it meanwhile
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("remove the image: %w", err)
	}
	return errors.Join(err, lock.Remove())
}

// mounted is what all processes see mounted, each namespace once, proc_pid_mountinfo(5).
func mounted() (string, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	var seen []string
	var all strings.Builder
	for _, dir := range processes {
		namespace, err := os.Readlink(filepath.Join(dir, "ns/mnt"))
		if err != nil || slices.Contains(seen, namespace) {
			continue // it has ended meanwhile
		}
		if text, err := os.ReadFile(filepath.Join(dir, "mountinfo")); err == nil {
			seen = append(seen, namespace)
			all.Write(text)
		}
	}
	return all.String(), nil
}
