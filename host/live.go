package host

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Read takes the inventory of this machine. What cannot be read counts as absent, but not if this
// process itself has no file descriptor left to read it with: that is an error.
func Read() (*Inventory, error) {
	t := &liveTree{dirTree: dirTree{"/"}}
	inv, err := ReadTree(t)
	if t.exhausted != nil {
		return nil, fmt.Errorf("cannot inspect the host: %w; raise the limit on open files (ulimit -n)", t.exhausted)
	}
	return inv, err
}

// liveTree is the tree of this machine; exhausted is the first error for lack of file descriptors.
type liveTree struct {
	dirTree
	exhausted error
}

func (t *liveTree) ReadFile(p string) ([]byte, error) {
	text, err := t.dirTree.ReadFile(p)
	return text, t.seen(err)
}

func (t *liveTree) ReadDir(p string) ([]string, error) {
	names, err := t.dirTree.ReadDir(p)
	return names, t.seen(err)
}

func (t *liveTree) Output(argv ...string) (string, error) {
	out, err := t.dirTree.Output(argv...)
	return out, t.seen(err)
}

func (t *liveTree) seen(err error) error {
	if t.exhausted == nil && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) {
		t.exhausted = err
	}
	return err
}
