package pci

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// carefulTree remembers that something could not be read which may well be there. Readers of functions take
// what they cannot read for absent, as drivers lack many files and refuse others (-EINVAL while an interface
// is down). Before others' functions are removed, that is not enough.
type carefulTree struct {
	busTree
	failed error
}

// doubtful are errors of the reading, not of what is read.
func doubtful(err error) bool {
	for _, number := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.EINTR} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

func (t *carefulTree) note(err error) {
	if t.failed == nil && doubtful(err) {
		t.failed = err
	}
}

func (t *carefulTree) ReadFile(p string) ([]byte, error) {
	text, err := t.busTree.ReadFile(p)
	t.note(err)
	return text, err
}

func (t *carefulTree) ReadDir(p string) ([]string, error) {
	names, err := t.busTree.ReadDir(p)
	t.note(err)
	return names, err
}

func (t *carefulTree) ReadLink(p string) (string, error) {
	target, err := t.busTree.ReadLink(p)
	t.note(err)
	return target, err
}

func (t *carefulTree) Exists(p string) bool {
	_, err := os.Stat(t.Path(p))
	t.note(err)
	return err == nil
}
