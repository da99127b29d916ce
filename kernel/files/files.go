// Package files reads what the kernel shows as files, below /proc and /sys. It reads through
// a Tree, so that a machine can be recorded once and read again elsewhere.
package files

import (
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Tree is a file system. Paths are absolute.
type Tree interface {
	ReadFile(path string) ([]byte, error)
	// ReadDir gives the names in a directory, sorted.
	ReadDir(path string) ([]string, error)
	// ReadLink gives a symbolic link's target as written.
	ReadLink(path string) (string, error)
	Exists(path string) bool
}

// Dir is the Tree below a directory: "/" for this machine.
type Dir string

// Path is where a file of the tree is.
func (d Dir) Path(p string) string { return filepath.Join(string(d), p) }

// ReadFile reads a whole file.
func (d Dir) ReadFile(p string) ([]byte, error) { return os.ReadFile(d.Path(p)) }

// ReadDir gives the names in a directory, sorted.
func (d Dir) ReadDir(p string) ([]string, error) {
	entries, err := os.ReadDir(d.Path(p))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	sort.Strings(names)
	return names, nil
}

// ReadLink gives a symbolic link's target as written.
func (d Dir) ReadLink(p string) (string, error) { return os.Readlink(d.Path(p)) }

// Exists reports whether there is a file, or what a link points to.
func (d Dir) Exists(p string) bool {
	_, err := os.Stat(d.Path(p))
	return err == nil
}

// Text reads a file without surrounding white space. For a file that cannot be read it
// returns the empty string, which all callers take as unknown.
func Text(t Tree, path string) string {
	data, err := t.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Number reads a file that holds one integer.
func Number(t Tree, path string) (int64, bool) {
	n, err := strconv.ParseInt(Text(t, path), 10, 64)
	return n, err == nil
}

// IntOr reads a file that holds one integer; otherwise is the value if it cannot be read.
func IntOr(t Tree, path string, otherwise int) int {
	if n, ok := Number(t, path); ok {
		return int(n)
	}
	return otherwise
}
