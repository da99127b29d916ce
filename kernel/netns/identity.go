package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Open opens the namespace at a path: a name of ip-netns(8) below /run/netns, or
// /proc/PID/ns/net.
func Open(path string) (*Namespace, error) { return open(path) }

// Path is the path by which it was opened.
func (n *Namespace) Path() string { return n.name }

// Cookie identifies the namespace among all of this boot, unlike its inode, which is reused
// (SO_NETNS_COOKIE, Linux 5.14). It opens a socket inside.
func (n *Namespace) Cookie() (uint64, error) {
	var cookie uint64
	err := n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		defer unix.Close(fd)
		cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		return os.NewSyscallError("getsockopt", err)
	})
	if err != nil {
		return 0, fmt.Errorf("identify %s: %w", n.name, err)
	}
	return cookie, nil
}

// Find opens the namespace with the cookie: the one at path if it matches, otherwise one
// among those of all processes and mounts. It returns nil if there is none: the namespace
// is gone, or nothing that can be found keeps it.
func Find(path string, cookie uint64) (*Namespace, error) {
	seen := map[uint64]bool{}
	found, err := find(path, cookie, seen)
	if found != nil || err != nil {
		return found, err
	}
	paths, err := Paths()
	if err != nil {
		return nil, err
	}
	for _, candidate := range paths {
		if found, err = find(candidate, cookie, seen); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

func find(path string, cookie uint64, seen map[uint64]bool) (*Namespace, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	if isGone(err) || err == nil && seen[st.Ino] {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a network namespace at %s: %w", path, err)
	}
	seen[st.Ino] = true
	ns, err := open(path)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	its, err := ns.Cookie()
	if errors.Is(err, unix.EINVAL) {
		err = nil // a file that is not, or no longer, a namespace
	} else if err == nil && its == cookie {
		return ns, nil
	}
	return nil, errors.Join(err, ns.Close())
}

// isGone is true for the error of a process that has ended, and of a path that leads nowhere, or nowhere
// for us. Any other error says nothing about what is there.
func isGone(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENOENT, unix.ESRCH, unix.ENOTDIR, unix.EACCES, unix.EPERM}, func(number unix.Errno) bool {
		return errors.Is(err, number)
	})
}

// Paths are where the host's network namespaces can be opened: their mount points, as
// ip-netns(8) and container runtimes make them, and those of processes. The same namespace
// occurs many times.
func Paths() ([]string, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "nsfs" || !strings.HasPrefix(m.Root, "net:"), false
	})
	if err != nil {
		return nil, fmt.Errorf("list the mounts of network namespaces: %w", err)
	}
	var paths []string
	for _, m := range mounts {
		paths = append(paths, m.Mountpoint)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			paths = append(paths, filepath.Join("/proc", entry.Name(), "ns/net"))
		}
	}
	return paths, nil
}
