package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/vm/guestimage"
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

// Remove removes names, and then the images that no name means. Its error tells the names that do not
// exist; the others are removed, as by docker rmi.
func (s Store) Remove(ctx context.Context, names ...string) error {
	own, _, err := s.own(namesFolder)
	if err != nil {
		return err
	}
	if own != nil {
		defer own.Close()
	}
	var unknown []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		err := fs.ErrNotExist
		if own != nil && filepath.Base(name) == name {
			err = own.Remove(name + ".json")
		}
		if errors.Is(err, fs.ErrNotExist) {
			unknown = append(unknown, strconv.Quote(name))
		} else if err != nil {
			return err
		}
	}
	return errors.Join(unknownNames(unknown), s.Prune(ctx))
}

func unknownNames(quoted []string) error {
	switch len(quoted) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("image %s does not exist; nines image ls lists the images", quoted[0])
	}
	return fmt.Errorf("the images %s do not exist; nines image ls lists the images", strings.Join(quoted, ", "))
}

// own opens a folder of the store to remove things in it; it is nil if it is not there.
func (s Store) own(folder string) (*os.Root, []fs.DirEntry, error) {
	own, err := guestimage.Own(s.Dir, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	entries, err := fs.ReadDir(own.FS(), ".")
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	return own, entries, nil
}

// Prune removes the images without a name, what killed builds have left, and all unpacked images and
// disks, but none whose files a container or a virtual machine has for its root: they are made again
// when a node wants them.
func (s Store) Prune(ctx context.Context) error {
	if err := s.pruneBuilds(); err != nil {
		return err
	}
	if err := s.prune(ctx, layoutsFolder, s.named); err != nil {
		return err
	}
	if err := s.prune(ctx, unpackedFolder, used); err != nil {
		return err
	}
	return s.prune(ctx, disksFolder, usedDisks)
}

// look tells which images of a folder are to stay, as it is now.
type look func() (stays func(name string) bool, err error)

// named are the images that a name means.
func (s Store) named() (func(name string) bool, error) {
	entries, err := s.List()
	return func(name string) bool {
		return slices.ContainsFunc(entries, func(e Entry) bool { return digestName(e.Digest) == name })
	}, err
}

// used are the unpacked images that a container has for its root.
func used() (func(name string) bool, error) {
	mounts, err := mounted("/proc")
	return func(name string) bool {
		return strings.Contains(mounts, filepath.Join(unpackedFolder, name))
	}, err
}

// usedDisks are the disks that a virtual machine has: they are among the arguments of its QEMU.
func usedDisks() (func(name string) bool, error) {
	var arguments strings.Builder
	err := proc.Each(func(id proc.Identity) error {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id.PID), "cmdline"))
		arguments.Write(text)
		if hasEnded(err) {
			return nil
		}
		return err
	})
	return func(name string) bool {
		return strings.Contains(arguments.String(), filepath.Join(disksFolder, name))
	}, err
}

// prune removes the whole images of a folder, each below its lock.
func (s Store) prune(ctx context.Context, folder string, now look) error {
	own, dirs, err := s.own(folder)
	if own == nil {
		return err
	}
	defer own.Close()
	stays, err := now()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		name, leaving := strings.CutSuffix(dir.Name(), guestimage.Leaving)
		if !dir.IsDir() || !folderNames[folder].MatchString(name) || stays(name) && !leaving {
			continue
		}
		if err := s.remove(ctx, own, folder, name, now); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a whole image, unless something has begun to use it. It loses its name first: then
// none is ever there in part, and nobody begins to use it after the look.
func (s Store) remove(ctx context.Context, own *os.Root, folder, name string, now look) error {
	lock, err := flock.Wait(ctx, filepath.Join(s.Dir, folder, name)+".lock")
	if err != nil {
		return err
	}
	if err := removeUnused(own, name, now); err != nil {
		return errors.Join(fmt.Errorf("remove the image: %w", err), lock.Remove())
	}
	return lock.Remove()
}

func removeUnused(own *os.Root, name string, now look) error {
	// What it is called until the look keeps it from all that removes what is there in part: if this is
	// killed, a container may have begun to use it. The next removal or use gives it its name back.
	leaving, gone := name+guestimage.Leaving, name+".unfinished"
	if err := own.Rename(name, leaving); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := own.Lstat(leaving); errors.Is(err, fs.ErrNotExist) {
		return nil // another has removed it meanwhile
	}
	stays, err := now()
	if err != nil || stays(name) {
		return errors.Join(err, own.Rename(leaving, name))
	}
	return errors.Join(own.RemoveAll(gone), own.Rename(leaving, gone), own.RemoveAll(gone))
}

// mounted is what all processes of a /proc see mounted, each namespace once, proc_pid_mountinfo(5). What
// cannot be read is an error: an image in it would count as unused.
func mounted(proc string) (string, error) {
	processes, err := os.ReadDir(proc)
	if err != nil {
		return "", fmt.Errorf("list processes: %w", err)
	}
	var seen []string
	var all strings.Builder
	for _, process := range processes {
		if _, err := strconv.Atoi(process.Name()); err != nil {
			continue
		}
		dir := filepath.Join(proc, process.Name())
		namespace, err := os.Readlink(filepath.Join(dir, "ns/mnt"))
		if hasEnded(err) || err == nil && slices.Contains(seen, namespace) {
			continue
		}
		// The namespaces of others are root's to see, but what is mounted in them is everyone's.
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("read what processes have mounted: %w", err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "mountinfo"))
		if hasEnded(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read what processes have mounted: %w", err)
		}
		if namespace != "" {
			seen = append(seen, namespace)
		}
		all.Write(text)
	}
	return all.String(), nil
}

// hasEnded is true for the errors with which /proc answers for a process that has ended; EINVAL is that of
// mountinfo for one that is not reaped yet.
func hasEnded(err error) bool {
	return proc.IsGone(err) || errors.Is(err, unix.EINVAL)
}
