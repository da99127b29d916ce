package selection

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is the repository's files by their paths.
type Tree map[string]File

// File is a file's contents, or a symbolic link's target.
type File struct {
	Content []byte
	Link    bool
	Digest  string // of the contents and the mode
}

// NewFile is a file with such contents.
func NewFile(content []byte, mode fs.FileMode) File {
	link, executable := mode&fs.ModeSymlink != 0, mode&0o111 != 0
	sum := sha256.New()
	fmt.Fprintf(sum, "%t %t\n", link, executable)
	sum.Write(content)
	return File{content, link, hex.EncodeToString(sum.Sum(nil))}
}

// ReadTree reads the files that git has or would add, as they are in the working tree.
func ReadTree(ctx context.Context, root string) (Tree, error) {
	// The checkout may belong to another user than the one who tests it.
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the repository's files: git ls-files: %w: %s", err, &stderr)
	}
	tree := Tree{}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		file, err := readFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, but not yet committed so
		} else if err != nil {
			return nil, err
		}
		tree[name] = file
	}
	if len(tree) == 0 {
		return nil, fmt.Errorf("git names no file in %s", root)
	}
	return tree, nil
}

func readFile(name string) (File, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return File{}, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		return NewFile([]byte(target), fs.ModeSymlink), err
	}
	content, err := os.ReadFile(name)
	return NewFile(content, info.Mode()), err
}

// folders are those of a path, the nearest first, without the top one.
func folders(name string) []string {
	var all []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	return all
}

// match lists the files that a pattern of path.Match names.
func (t Tree) match(pattern string) []string {
	var found []string
	for name := range t {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
