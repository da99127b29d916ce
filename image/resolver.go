package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// lendResolver writes the host's DNS servers into a tree's resolv.conf that names none: distrobuilder, for
// one, leaves an empty file. Giving it back restores what was there, unless a program has changed it
// meanwhile.
func (b building) lendResolver(servers []byte) (giveBack func() error, err error) {
	nothing := func() error { return nil }
	// Where systemd-resolved is in the image this is a link to a file that the service would make.
	path, err := securejoin.SecureJoin(b.tree, "etc/resolv.conf")
	if err != nil {
		return nothing, err
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nothing, ignoreAbsent(err)
	}
	old, err := os.ReadFile(path)
	if err != nil || namesServer(old) {
		return nothing, err
	}
	if err := os.WriteFile(path, servers, 0); err != nil {
		return nothing, err
	}
	name, err := filepath.Rel(b.tree, path)
	return func() error { return b.restore(name, servers, old) }, err
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// namesServer is true for the text of a resolv.conf(5) with a server.
func namesServer(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "nameserver" {
			return true
		}
	}
	return false
}

// restore writes a file's old text where it has the one that was lent. What a program of the tree has made
// of its folder leads nowhere else.
func (b building) restore(name string, lent, old []byte) error {
	root, err := os.OpenRoot(b.tree)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ignoreAbsent(err)
	}
	now, err := root.ReadFile(name)
	if err == nil && bytes.Equal(now, lent) {
		err = root.WriteFile(name, old, 0)
	}
	if err != nil {
		return fmt.Errorf("restore %s, which had the host's DNS servers during the build: %w", name, err)
	}
	return nil
}
