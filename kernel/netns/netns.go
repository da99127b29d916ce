package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Namespace is an open network namespace; it stays alive until it is closed.
type Namespace struct {
	file *os.File
	name string
}

// OfProcess opens the network namespace that a process lives in.
func OfProcess(pid int) (*Namespace, error) {
	return open("/proc/" + strconv.Itoa(pid) + "/ns/net")
}

// Current opens the network namespace of the calling thread.
func Current() (*Namespace, error) { return open("/proc/thread-self/ns/net") }

func open(path string) (*Namespace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open network namespace: %w", err)
	}
	return &Namespace{file: file, name: path}, nil
}

// FD is the namespace's file descriptor, for netlink messages that name it.
func (n *Namespace) FD() int { return int(n.file.Fd()) }

// Close lets the namespace go.
func (n *Namespace) Close() error { return n.file.Close() }

// Inode identifies the namespace among those alive.
func (n *Namespace) Inode() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(n.FD(), &st); err != nil {
		return 0, fmt.Errorf("stat %s: %w", n.name, err)
	}
	return st.Ino, nil
}

// Do runs f on a thread inside the namespace. f must not start goroutines that
// rely on it.
func (n *Namespace) Do(f func() error) error {
	runtime.LockOSThread()
	home, err := Current()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	if err := unix.Setns(n.FD(), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter %s: %w", n.name, err)
	}
	err = f()
	if back := unix.Setns(home.FD(), unix.CLONE_NEWNET); back != nil {
		// The thread stays locked, and the runtime ends it with the goroutine.
		return errors.Join(err, fmt.Errorf("leave %s: %w", n.name, back))
	}
	runtime.UnlockOSThread()
	return err
}

// Netlink opens a routing socket in the namespace.
func (n *Namespace) Netlink() (*netlink.Handle, error) {
	handle, err := netlink.NewHandleAt(vnetns.NsHandle(n.FD()), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink in %s: %w", n.name, err)
	}
	return handle, nil
}

// Sysctl writes a value below /proc/sys as the namespace sees it; the name has
// dots or slashes ("net.ipv4.ip_forward").
func (n *Namespace) Sysctl(name, value string) error {
	return n.Do(func() error { return WriteSysctl(name, value) })
}

// ErrNoSysctl is a sysctl that the kernel does not have in a namespace of a lab.
var ErrNoSysctl = errors.New("the kernel has none of that name in a node's namespaces")

// WriteSysctl writes a value below /proc/sys for the calling thread's namespaces.
func WriteSysctl(name, value string) error {
	path := SysctlPath(name)
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sysctl %s: %w", name, ErrNoSysctl)
		}
		return fmt.Errorf("sysctl %s: write %q: %w", name, value, err)
	}
	return nil
}

// SysctlPath is the file of a sysctl. A name with a slash in it is taken as a
// path, as sysctl(8) does, because interface names may hold dots.
func SysctlPath(name string) string {
	if !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, ".", "/")
	}
	return filepath.Join("/proc/sys", name)
}
