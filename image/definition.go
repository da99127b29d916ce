package image

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
)

// distrobuilder makes root file systems by definition files; it is the tool of LXC's own images.
const distrobuilder = "distrobuilder"

// CheckDefinition checks that the host can make an image of a definition file of distrobuilder.
func CheckDefinition(file string) error {
	if _, err := digestOf(file); err != nil {
		return exit.Wrongf("distrobuilder's definition: %w", err)
	}
	if _, err := exec.LookPath(distrobuilder); err != nil {
		return &exit.MissingError{
			Capability: distrobuilder, Reason: "there is no " + distrobuilder + ", which builds the image from " + file,
			Remedy: "apt-get install distrobuilder (Debian 13), or write from: bookworm or trixie",
		}
	}
	return nil
}

// buildDefinition has distrobuilder make a tree in a folder. It mounts file systems in the tree and
// leaves them there if it is killed, so it has mount and pid namespaces of its own, and ends with
// this process.
func buildDefinition(ctx context.Context, dir, file string) (tree string, err error) {
	if err := CheckDefinition(file); err != nil {
		return "", err
	}
	tree = filepath.Join(dir, rootFolder)
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc", "--",
		distrobuilder, "build-dir", file, tree, "--cache-dir="+filepath.Join(dir, "cache"), "--sources-dir="+filepath.Join(dir, "sources"), "--keep-sources=false")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if err := runToEnd(cmd, distrobuilder+" build-dir "+file); err != nil {
		return "", err
	}
	return tree, forgetHostName(tree)
}

// forgetHostName removes this host's name from a tree, into which debootstrap copies it: the image would
// be another one on each host.
func forgetHostName(tree string) error {
	self, err := os.Hostname()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	const file = "etc/hostname"
	if info, err := root.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return ignoreAbsent(err)
	}
	text, err := root.ReadFile(file)
	if err == nil && strings.TrimSpace(string(text)) == self {
		err = root.Remove(file)
	}
	return err
}
