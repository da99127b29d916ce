package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
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
// is gone, or nothing that can be found keeps it. Where the path may not be looked at, that is
// an error.
func Find(path string, cookie uint64) (*Namespace, error) {
	s := search{cookie: cookie, seen: map[uint64]bool{}}
	if found, err := s.look(path); found != nil || err != nil {
		return found, err
	}
	paths, err := Paths()
	if err != nil {
		return nil, err
	}
	for _, candidate := range paths {
		found, err := s.look(candidate)
		// Without CAP_SYS_PTRACE not even root may look into a process that has more capabilities.
		// The namespace that we once found was not one of those.
		if found != nil || err != nil && !isRefused(err) {
			return found, err
		}
	}
	return nil, nil
}

// search looks for a namespace.
type search struct {
	cookie uint64
	// seen are the inodes of those that it has looked at.
	seen map[uint64]bool
}

func (s *search) look(path string) (*Namespace, error) {
	ns, err := s.open(path)
	if isRefused(err) {
		// So does /proc answer for a process that ends just now, too (proc_ns_get_link in
		// fs/proc/namespaces.c). Once it has ended, nothing exists at its path.
		ns, err = s.open(path)
	}
	if isGone(err) {
		return nil, nil
	}
	if ns == nil || err != nil {
		return nil, err
	}
	its, err := ns.Cookie()
	if err == nil && its == s.cookie {
		return ns, nil
	}
	if errors.Is(err, unix.EINVAL) {
		err = nil // a file that is not, or no longer, a namespace
	}
	return nil, errors.Join(err, ns.Close())
}

// open returns nil for one that was seen before.
func (s *search) open(path string) (*Namespace, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, fmt.Errorf("look for a network namespace at %s: %w", path, err)
	}
	if s.seen[st.Ino] {
		return nil, nil
	}
	ns, err := open(path)
	s.seen[st.Ino] = err == nil
	return ns, err
}

// isGone is true for the error of a process that has ended, and of a path that leads nowhere. Any other
// error says nothing about what is there.
func isGone(err error) bool {
	return proc.IsGone(err) || errors.Is(err, unix.ENOTDIR)
}

func isRefused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

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
