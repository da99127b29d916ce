// Package folder keeps a journal in a folder: the folder of a lab, of a cluster, of a session. It
// distinguishes what nines wrote there from what other programs wrote, and removes only the former.
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
	"nines.dev/nines/kernel/openat"
)

// JournalName is the file name of every journal in its folder.
const JournalName = "journal.jsonl"

// journalNames are the copy of the journal's first line, and the journal: in the order of their removal, as a copy
// without a journal tells of one that someone has cut.
var journalNames = []string{JournalName + journal.CopySuffix, JournalName}

// Place says where such a folder is and what belongs in it.
type Place struct {
	// Root is the state folder, which the user names, and Below the path from there:
	// "labs/quickstart".
	Root, Below string
	// Owner is the Lab of the journal's header.
	Owner string
	// What says in messages what the folder belongs to: "a lab".
	What string
	// Elsewhere is what the user can do if something else is in this place: "give the lab
	// another name".
	Elsewhere string
	// Again is the command that removes the folder.
	Again string
	// Lock is the name of the lock, if the lock is in the folder.
	Lock string
	// Written are the other names that nines writes into the folder.
	Written []string
}

// Path returns the folder's path.
func (p Place) Path() string { return filepath.Join(p.Root, p.Below) }

// Journal returns the path of the folder's journal.
func (p Place) Journal() string { return filepath.Join(p.Path(), JournalName) }

// ForeignError means that nines did not make what is in the place of a folder. nines neither reads nor
// removes it.
type ForeignError struct {
	Path, Reason string
	place        Place
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not the folder of %s: %s; nines does not touch it; move it elsewhere, or %s", e.place.Path(), e.place.What, e.Reason, e.place.Elsewhere)
}

// ExitCode returns 2: the command names something that does not belong to nines.
func (e *ForeignError) ExitCode() int { return exit.Wrong }

func (p Place) foreign(format string, a ...any) error {
	return &ForeignError{Path: p.Path(), Reason: fmt.Sprintf(format, a...), place: p}
}

// Folder is an open folder that nines made: its path contains no link, and no other user could have put
// anything into it. Its names are looked up relative to the open folder, so that it stays the same folder
// no matter what happens to its path.
type Folder struct {
	Place
	root *os.Root
}

// Open opens a folder. The error is fs.ErrNotExist if the folder does not exist, and a *ForeignError if
// nines did not make it.
func Open(p Place) (*Folder, error) {
	base, err := os.Open(p.Root) // the user names it, possibly by a link
	if err != nil {
		return nil, err
	}
	defer base.Close()
	fd, err := openBeneath(int(base.Fd()), p.Below)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, p.foreign("it is a symbolic link, or its path contains one")
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

// Check returns the error of Open.
func Check(p Place) error {
	f, err := Open(p)
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// openBeneath opens a folder below another, and follows no links and no mounts.
func openBeneath(dir int, path string) (int, error) {
	return openat.Open(dir, path, unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
}

func (p Place) checkOwner(path, what string, uid, mode uint32) error {
	switch {
	case uid == 0 && os.Geteuid() != 0:
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission} // root's folders need root
	case int(uid) != os.Geteuid():
		return p.foreign("%s belongs to the user with ID %d", what, uid)
	case mode&0o022 != 0:
		return p.foreign("others may write to %s (mode %04o)", what, mode&0o7777)
	}
	return nil
}

// checkJournal checks that the folder has its owner's journal. A start that was killed before it wrote
// one has left at most a lock.
func (f *Folder) checkJournal() error {
	for _, name := range journalNames {
		if err := f.checkFile(name); err != nil {
			return err
		}
	}
	header, err := journal.ReadHeader(f.Journal())
	if errors.Is(err, journal.ErrEmpty) || errors.Is(err, fs.ErrNotExist) {
		return f.checkBegun()
	}
	if err != nil {
		return err
	}
	if header.Lab != f.Owner {
		return f.foreign("its journal belongs to %q", header.Lab)
	}
	return nil
}

// checkFile checks that a file of the journal, if it exists, is one of its owner's.
func (f *Folder) checkFile(name string) error {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return f.foreign("its journal is not a file")
	}
	st := info.Sys().(*syscall.Stat_t)
	return f.checkOwner(filepath.Join(f.Path(), name), "its journal", st.Uid, st.Mode)
}

func (f *Folder) checkBegun() error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != f.Lock && !slices.Contains(journalNames, name) {
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
