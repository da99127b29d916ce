package selection

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
)

// History reads the files of commits. Files that several have in common are read once.
type History struct {
	Root  string
	files map[string]File // by mode and git's object
}

// Tree is the files of a commit.
func (h *History) Tree(ctx context.Context, commit string) (Tree, error) {
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-tree", "-r", "-z", "--full-tree", commit)
	list.Dir = h.Root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-tree %s: %w", commit, err)
	}
	if h.files == nil {
		h.files = map[string]File{}
	}
	objects := map[string]string{} // mode and object, by path
	var missing []string
	for entry := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		words := strings.Fields(head) // mode, type, object
		if len(words) != 3 || words[1] != "blob" {
			continue
		}
		key := words[0] + " " + words[2]
		objects[name] = key
		if _, ok := h.files[key]; !ok {
			missing = append(missing, key)
		}
	}
	if err := h.read(ctx, missing); err != nil {
		return nil, err
	}
	tree := Tree{}
	for name, key := range objects {
		tree[name] = h.files[key]
	}
	return tree, nil
}

// read reads objects, each of which a mode precedes.
func (h *History) read(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	batch := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "cat-file", "--batch")
	batch.Dir = h.Root
	var names bytes.Buffer
	for _, key := range keys {
		_, object, _ := strings.Cut(key, " ")
		fmt.Fprintln(&names, object)
	}
	batch.Stdin = &names
	from, err := batch.StdoutPipe()
	if err != nil {
		return err
	}
	if err := batch.Start(); err != nil {
		return err
	}
	defer func() { _ = batch.Wait() }()
	lines := bufio.NewReader(from)
	for _, key := range keys {
		head, err := lines.ReadString('\n') // object, type, size
		if err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		words := strings.Fields(head)
		size, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return fmt.Errorf("git cat-file: %q", head)
		}
		content := make([]byte, size+1) // and a newline
		if _, err := io.ReadFull(lines, content); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
		mode := fs.FileMode(0o644)
		switch {
		case strings.HasPrefix(key, "120000"):
			mode = fs.ModeSymlink
		case strings.HasPrefix(key, "100755"):
			mode = 0o755
		}
		h.files[key] = NewFile(content[:size], mode)
	}
	return nil
}
