package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Groups are the control groups of a part, of which it sees its own as the root: what the kubelet
// takes for the whole machine's control groups is the node's. They are of version 1 or of version 2.
type Groups struct {
	// Hierarchies are those of version 1.
	Hierarchies []Hierarchy `json:"hierarchies,omitempty"`
	// Controllers are those of version 2.
	Controllers []string `json:"controllers,omitempty"`
}

// Hierarchy is a mounted control group hierarchy of version 1.
type Hierarchy struct {
	// Folder is its place below /sys/fs/cgroup.
	Folder string `json:"folder"`
	// Options are its mount options: "cpu,cpuacct", "none,name=systemd".
	Options string `json:"options"`
	// Controllers also lead to it, by a link each.
	Controllers []string `json:"controllers,omitempty"`
}

// Leaf is the group of version 2 that a part's own programs are in, below the part's: one that has
// processes gives no controllers to groups below it, where the pods' are.
const Leaf = "nines"

// entrance is the descriptor at which Start has the file cgroup.procs of the part's group of
// version 2 open.
const entrance = 3

const (
	groupsFolder = "/sys/fs/cgroup"
	groupsFlags  = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
)

// showGroups shows the part its groups. The calling thread gets a namespace of control groups.
func showGroups(g Groups) error {
	switch {
	case len(g.Controllers) > 0:
		return showUnified(g.Controllers)
	case len(g.Hierarchies) > 0:
		return showHierarchies(g.Hierarchies)
	}
	return nil
}

// showUnified shows version 2, and makes the part's group give controllers on.
func showUnified(controllers []string) error {
	// A namespace begins at the group of who makes it, and this process is in the leaf. The file was
	// opened outside, as there is no group to be seen here yet. To mount version 2 before there is a
	// namespace would change the host's mount: its options are those of the last mount
	// (apply_cgroup_root_flags in kernel/cgroup/cgroup.c).
	group := os.NewFile(entrance, "cgroup.procs")
	_, err := group.WriteString("0")
	if err := errors.Join(err, group.Close()); err != nil {
		return fmt.Errorf("join the member's control group: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := mount("cgroup2", groupsFolder, "cgroup2", groupsFlags, ""); err != nil {
		return err
	}
	// Back, so that the part's group has no process.
	for _, file := range []struct{ name, text string }{
		{filepath.Join(Leaf, "cgroup.procs"), "0"},
		{"cgroup.subtree_control", "+" + strings.Join(controllers, " +")},
	} {
		path := filepath.Join(groupsFolder, file.name)
		if err := os.WriteFile(path, []byte(file.text), 0); err != nil {
			return fmt.Errorf("write %q to %s: %w", file.text, path, err)
		}
	}
	return nil
}

// showHierarchies mounts those of version 1 again.
func showHierarchies(list []Hierarchy) error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := mount("tmpfs", groupsFolder, "tmpfs", groupsFlags, "mode=755"); err != nil {
		return err
	}
	for _, h := range list {
		path := filepath.Join(groupsFolder, h.Folder)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if err := mount("cgroup", path, "cgroup", groupsFlags, h.Options); err != nil {
			return err
		}
		for _, c := range h.Controllers {
			if c == h.Folder {
				continue
			}
			if err := os.Symlink(h.Folder, filepath.Join(groupsFolder, c)); err != nil {
				return err
			}
		}
	}
	return nil
}
