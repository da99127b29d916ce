package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
)

// ForeignError means that a place in the labs' folder is not what nines makes there. nines neither
// reads nor removes it.
type ForeignError struct{ Path, Reason string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not the folder of a lab: %s; nines does not touch it; move it elsewhere, or give the lab another name", e.Path, e.Reason)
}

// ExitCode is 2: the command names something that is not a lab.
func (e *ForeignError) ExitCode() int { return exit.Wrong }

// folder is a lab's folder that is open and was made by nines: no link leads to it, and nobody but
// its owner could have put anything into it. Its names are looked up below the open folder, so that
// it stays the same folder whatever happens to its path.
type folder struct {
	state
	root *os.Root
}

// openFolder opens the folder of a lab. The error is fs.ErrNotExist if there is none, and a
// *ForeignError if nines did not make it.
func openFolder(s state) (*folder, error) {
	labs, err := os.Open(filepath.Dir(filepath.Dir(s.dir))) // the user names it, and may do so by a link
	if err != nil {
		return nil, err
	}
	defer labs.Close()
	below := filepath.Join(filepath.Base(filepath.Dir(s.dir)), filepath.Base(s.dir))
	fd, err := openBeneath(int(labs.Fd()), below)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, &ForeignError{s.dir, "it is a symbolic link, or lies behind one"}
	case errors.Is(err, unix.ENOTDIR):
		return nil, &ForeignError{s.dir, "it is a file"}
	case errors.Is(err, unix.EXDEV):
		return nil, &ForeignError{s.dir, "another file system is mounted there"}
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: s.dir, Err: err}
	}
	defer unix.Close(fd)
	if err := checkOwner(fd, s.dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, err
	}
	f := &folder{s, root}
	if err := f.checkJournal(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// checkFolder is the error of openFolder.
func checkFolder(s state) error {
	f, err := openFolder(s)
	if err != nil {
		return err
	}
	return f.close()
}

// openBeneath opens a folder below another, and follows no link and no mount on the way.
func openBeneath(dir int, path string) (int, error) {
	for {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
		})
		// EAGAIN: something was renamed meanwhile, openat2(2).
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

func checkOwner(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return checkStat(path, st.Uid, st.Mode)
}

func checkStat(path string, uid, mode uint32) error {
	switch {
	case uid == 0 && os.Geteuid() != 0:
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission} // root's labs need root
	case int(uid) != os.Geteuid():
		return &ForeignError{path, fmt.Sprintf("it belongs to the user with ID %d", uid)}
	case mode&0o022 != 0:
		return &ForeignError{path, fmt.Sprintf("others may write to it (mode %04o)", mode&0o7777)}
	}
	return nil
}

// checkJournal checks that the folder has a journal of this lab. A start that was killed before it
// wrote one has left a lock at most.
func (f *folder) checkJournal() error {
	name := filepath.Base(f.journal())
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.checkBegun()
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &ForeignError{f.dir, "its journal is not a file"}
	}
	st := info.Sys().(*syscall.Stat_t)
	if err := checkStat(f.journal(), st.Uid, st.Mode); err != nil {
		return err
	}
	header, err := journal.ReadHeader(f.journal())
	if errors.Is(err, journal.ErrEmpty) {
		return f.checkBegun()
	}
	if err != nil {
		return err
	}
	if header.Lab != filepath.Base(f.dir) {
		return &ForeignError{f.dir, fmt.Sprintf("its journal is that of a lab %q", header.Lab)}
	}
	return nil
}

func (f *folder) checkBegun() error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if path := filepath.Join(f.dir, name); path != f.lock() && path != f.journal() {
			return &ForeignError{f.dir, fmt.Sprintf("it has no journal of nines, and contains %q", name)}
		}
	}
	return nil
}

func (f *folder) names() ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (f *folder) close() error { return f.root.Close() }

// written are the names that nines writes into a lab's folder, besides its journal and lock.
func (s state) written() []string {
	names := s.folders()
	for _, name := range []string{
		filepath.Base(s.experiment()), filepath.Base(s.plan()), filepath.Base(s.settings()), filepath.Base(s.isolation()),
		filepath.Base(s.tuning()), filepath.Base(s.measured()), filepath.Base(s.receive()), isolate.AccountFile,
	} {
		names = append(names, name, name+replace.Unfinished)
	}
	return names
}

// folders are the written names of what grows with what nodes and programs write.
func (s state) folders() []string {
	names := slices.Clone(node.Written)
	for _, path := range []string{
		s.engines(), s.logs(), s.switches(), s.pollers(), s.disturbances(), link.SocketsDir(s.dir),
	} {
		names = append(names, filepath.Base(path))
	}
	return names
}

// empty deletes what nines has written into the folder, except the journal and the lock. note is
// told what else is there and stays.
func (f *folder) empty(note func(string)) error {
	names, err := f.names()
	if err != nil {
		return fmt.Errorf("read the lab's folder: %w", err)
	}
	written := f.written()
	for _, name := range names {
		path := filepath.Join(f.dir, name)
		if path != f.journal() && path != f.lock() && !slices.Contains(written, name) {
			note(path + " was not made by nines, and stays as it is")
		}
	}
	return f.delete(written)
}

// makeRoom deletes what may have filled the disk, and what no step of the journal needs.
func (f *folder) makeRoom() error { return f.delete(f.folders()) }

func (f *folder) delete(names []string) error {
	if err := errors.Join(fault.Fail("before emptying the folder"), f.checkMounts()); err != nil {
		return err
	}
	for _, name := range names {
		if err := f.root.RemoveAll(name); err != nil {
			return fmt.Errorf("remove the lab's state: %w", err)
		}
	}
	return nil
}

// checkMounts fails if a file system is mounted below the folder: what is in that is not ours. The
// lab's own mounts are in its nodes, and gone with them.
func (f *folder) checkMounts() error {
	path, err := filepath.EvalSymlinks(f.dir) // as the kernel names it
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
		return fmt.Errorf("a file system is mounted at %s, and what is in it is not the lab's; umount it, then nines down %s", below[0].Mountpoint, filepath.Base(f.dir))
	}
	return nil
}

// remove deletes the lab's folder: the journal after everything that it may refer to, and the lock
// last, so that nobody takes a half-removed lab.
func (f *folder) remove(note func(string)) error {
	if err := f.empty(note); err != nil {
		return err
	}
	for _, path := range []string{f.journal(), f.lock()} {
		err := fault.Fail("before removing the folder")
		if err == nil {
			err = absentIsFine(f.root.Remove(filepath.Base(path)))
		}
		if err != nil {
			return fmt.Errorf("remove the lab's state: %w", err)
		}
	}
	err := absentIsFine(os.Remove(f.dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil // with what is not ours, as note has been told
	}
	if err != nil {
		return fmt.Errorf("remove the lab's state: %w", err)
	}
	return nil
}
