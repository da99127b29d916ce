package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// SocketsDir is the folder of the sockets that join endpoints and programs. Each socket has its own
// folder in it: a container sees only the folders of its own endpoints.
func SocketsDir(stateDir string) string { return filepath.Join(stateDir, "sockets") }

// socketName is the name of a socket in its folder: short, since the path length is limited.
const socketName = "s"

// SocketPath is the path of a plan's socket below dir: SocketsDir for the host, the fabric and
// netns nodes, another folder in a container.
func SocketPath(dir, socket string) string { return filepath.Join(dir, socket, socketName) }

// SocketOf is an endpoint's socket as the plan names it. Both ends of a memif link use the first
// one's.
func SocketOf(l plan.Link, e plan.Endpoint) string {
	if l.Kind.Descriptor().DPDK == spec.DPDKMemif && len(l.Endpoints) > 0 {
		return l.Endpoints[0].Socket
	}
	return e.Socket
}

// Socket is the path of an endpoint's socket for the link's program. If the program will listen on
// it, a socket that an earlier program left is removed.
func (s *Site) Socket(l plan.Link, e plan.Endpoint) (string, error) {
	path := SocketPath(SocketsDir(s.StateDir), SocketOf(l, e))
	if err := CheckSocketPath(path); err != nil {
		return "", err
	}
	if !e.SocketServer {
		return path, nil
	}
	return path, RemoveStaleSocket(path)
}

// maxSocketPath is the longest path that fits sun_path with its final zero, unix(7).
const maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// CheckSocketPath returns an error for a path that is too long for a lab's socket.
func CheckSocketPath(path string) error {
	return CheckPath(path, "set NINES_STATE_DIR to a shorter folder, or shorten the lab's name")
}

// CheckPath returns an error for a path that is too long for a socket. The remedy says how it gets shorter.
func CheckPath(path, remedy string) error {
	if len(path) > maxSocketPath {
		return exit.Wrongf("the socket %s has a path of %d bytes, and the kernel allows %d (unix(7)); %s", path, len(path), maxSocketPath, remedy)
	}
	return nil
}

// RemoveStaleSocket removes the socket that a dead process has left at a path on which another
// process will listen. The folder is the lab's own; anything but a socket stays, and is an error.
func RemoveStaleSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check for a stale socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; remove it", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale socket: %w", err)
	}
	return nil
}

// Listening is ready when processes of the fabric listen on all of the sockets. It asks the kernel
// and does not connect, as a vhost-user back end would take the connection for a guest. The kernel
// also lists a socket of a killed program while one of its threads is still exiting; Socket has
// removed its file by then.
func (s *Site) Listening(paths ...string) func(context.Context) error {
	return func(context.Context) error {
		// The file of a process shows the sockets of its network namespace.
		open, err := listeners("/proc/" + strconv.Itoa(s.Fabric.PID) + "/net/unix")
		if err != nil {
			return err
		}
		for _, path := range paths {
			if _, err := os.Lstat(path); err != nil || !open[path] {
				return fmt.Errorf("no program listens on %s", path)
			}
		}
		return nil
	}
}

// listeners are the paths of listening sockets in a file such as /proc/net/unix:
// Num, RefCount, Protocol, Flags, Type, St, Inode, Path (proc(5)).
func listeners(file string) (map[string]bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	open := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 {
			continue
		}
		// __SO_ACCEPTCON in include/uapi/linux/net.h
		if flags, err := strconv.ParseUint(fields[3], 16, 64); err == nil && flags&(1<<16) != 0 {
			open[strings.Join(fields[7:], " ")] = true
		}
	}
	return open, lines.Err()
}

// SocketsOf lists the sockets of nodes' endpoints, by node.
func SocketsOf(p *plan.Plan) map[string][]string {
	sockets := map[string][]string{}
	for _, l := range p.Links {
		for _, e := range l.Endpoints {
			if socket := SocketOf(l, e); socket != "" && !slices.Contains(sockets[e.Node], socket) {
				sockets[e.Node] = append(sockets[e.Node], socket)
			}
		}
	}
	return sockets
}
