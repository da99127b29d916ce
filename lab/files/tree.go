package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// tree is a tree of files that this process can open: the host's, or that of a node on the host's kernel.
type tree struct {
	// open opens a path; for a node, as the node sees it.
	open func(path string, flags int) (*os.File, error)
	// skipped gets a line for each thing that is not copied.
	skipped func(string)
}

func (t tree) kind(_ context.Context, path string) (kind, error) {
	f, err := t.open(path, look)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, nil
	}
	if err != nil {
		return nothing, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nothing, err
	case info.IsDir():
		return folder, nil
	}
	return file, nil
}

// below opens a folder as a root that no path leads out of.
func (t tree) below(path string) (*os.Root, error) {
	f, err := t.open(path, look|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return os.OpenRoot(again(f)) // by its descriptor, so that nothing is resolved twice
}

// again is a path to what an open file is.
func again(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
