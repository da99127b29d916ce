// Package folder keeps a journal in a folder: that of a lab, of a cluster, of a session. It tells
// what nines wrote there from what others did, and removes only the former.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
)

// JournalName is the file name of every journal in its folder.
const JournalName = "journal.jsonl"

// Place says where such a folder is and what belongs into it.
type Place struct {
	// Root is the state folder, which the user names, and Below the path from there:
	// "labs/quickstart".
	Root, Below string
	// Owner is the Lab of the journal's header.
	Owner string
	// What it is the folder of, for messages: "a lab".
	What string
	// Elsewhere is what the user can do if something else is at this place: "give the lab
	// another name".
	Elsewhere string
	// Again is the command that removes the folder.
	Again string
	// Lock is the name of the lock in the folder, if it is there.
	Lock string
	// Written are the other names that nines writes into the folder.
	Written []string
}

// Path is the folder's path.
func (p Place) Path() string { return filepath.Join(p.Root, p.Below) }

// Journal is the path of its journal.
func (p Place) Journal() string { return filepath.Join(p.Path(), JournalName) }

// ForeignError means that something at the place of a folder is not what nines makes there. nines
// neither reads nor removes it.
type ForeignError struct {
	Path, Reason string
	place        Place
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not the folder of %s: %s; nines does not touch it; move it elsewhere, or %s", e.place.Path(), e.place.What, e.Reason, e.place.Elsewhere)
}

// ExitCode is 2: the command names something that is not nines'.
func (e *ForeignError) ExitCode() int { return exit.Wrong }

func (p Place) foreign(format string, a ...any) error {
	return &ForeignError{Path: p.Path(), Reason: fmt.Sprintf(format, a...), place: p}
}

// Folder is a folder that is open and was made by nines: no link leads to it, and nobody but its
// owner could have put anything into it. Its names are looked up below the open folder, so that it
// stays the same folder whatever happens to its path.
type Folder struct {
	Place
	root *os.Root
}

// Open opens a folder. The error is fs.ErrNotExist if there is none, and a *ForeignError if nines
// did not make it.
func Open(p Place) (*Folder, error) {
	base, err := os.Open(p.Root) // the user names it, and may do so by a link
	if err != nil {
		return nil, err
	}
	defer base.Close()
	fd, err := openBeneath(int(base.Fd()), p.Below)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, p.foreign("it is a symbolic link, or lies behind one")
	case errors.Is(err, unix.ENOTDIR):
		return nil, p.foreign("it is a file")
	case errors.Is(err, unix.EXDEV):
		return nil, p.foreign("another file system is mounted there")
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: p.Path(), Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: p.Path(), Err: err}
	}
	if err := p.checkOwner(p.Path(), "it", st.Uid, st.Mode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, err
	}
	f := &Folder{p, root}
	if err := f.checkJournal(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// Check is the error of Open.
func Check(p Place) error {
	f, err := Open(p)
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

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

func (p Place) checkOwner(path, what string, uid, mode uint32) error {
	switch {
	case uid == 0 && os.Geteuid() != 0:
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission} // what is root's needs root
	case int(uid) != os.Geteuid():
		return p.foreign("%s belongs to the user with ID %d", what, uid)
	case mode&0o022 != 0:
		return p.foreign("others may write to %s (mode %04o)", what, mode&0o7777)
	}
	return nil
}

// checkJournal checks that the folder has a journal of its owner. A start that was killed before it
// wrote one has left a lock at most.
func (f *Folder) checkJournal() error {
	info, err := f.root.Lstat(JournalName)
	if errors.Is(err, fs.ErrNotExist) {
		return f.checkBegun()
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return f.foreign("its journal is not a file")
	}
	st := info.Sys().(*syscall.Stat_t)
	if err := f.checkOwner(f.Journal(), "its journal", st.Uid, st.Mode); err != nil {
		return err
	}
	header, err := journal.ReadHeader(f.Journal())
	if errors.Is(err, journal.ErrEmpty) {
		return f.checkBegun()
	}
	if err != nil {
		return err
	}
	if header.Lab != f.Owner {
		return f.foreign("its journal is that of %q", header.Lab)
	}
	return nil
}

func (f *Folder) checkBegun() error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != f.Lock && name != JournalName {
			return f.foreign("it has no journal of nines, and contains %q", name)
		}
	}
	return nil
}

func (f *Folder) names() ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
