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

// Dir is where ip-netns(8) has the network namespaces with names.
const Dir = "/run/netns"

// Namespace is an open network namespace; it stays alive until it is closed.
type Namespace struct {
	file *os.File
	name string
}

// OfProcess opens a process's network namespace.
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

// FD is the namespace's file descriptor, for netlink messages that refer to it.
func (n *Namespace) FD() int { return int(n.file.Fd()) }

// Close closes the namespace's file descriptor.
func (n *Namespace) Close() error { return n.file.Close() }

// Inode identifies the namespace among those that exist now.
func (n *Namespace) Inode() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(n.FD(), &st); err != nil {
		return 0, fmt.Errorf("stat %s: %w", n.name, err)
	}
	return st.Ino, nil
}

// Do runs f on a thread inside the namespace. Goroutines that f starts are not inside.
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
		// The thread stays locked; the runtime ends it with the goroutine.
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

// Sysctl writes a value below /proc/sys inside the namespace; the name has dots or slashes
// ("net.ipv4.ip_forward").
func (n *Namespace) Sysctl(name, value string) error {
	return n.Do(func() error { return WriteSysctl(name, value) })
}

// ErrNoSysctl says that the kernel has no such sysctl in a node's namespace.
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

// ReadSysctl reads a value below /proc/sys for the calling thread's namespaces, as one line with single
// spaces.
func ReadSysctl(name string) (string, error) {
	text, err := os.ReadFile(SysctlPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("sysctl %s: %w", name, ErrNoSysctl)
	}
	if err != nil {
		return "", fmt.Errorf("sysctl %s: %w", name, err)
	}
	return strings.Join(strings.Fields(string(text)), " "), nil
}

// SysctlPath is the file of a sysctl. Like sysctl(8), it takes a name with a slash as a
// path, because interface names may contain dots.
func SysctlPath(name string) string {
	if !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, ".", "/")
	}
	return filepath.Join("/proc/sys", name)
}
