package node

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/openat"
)

// OpenInside opens a file as a node sees it; pid is a process of the node's. The node's own processes may change the
// file meanwhile, but its symbolic links lead nowhere outside of the node.
func OpenInside(pid int, path string, flags int) (*os.File, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open the node's root", err)
	}
	defer func() { _ = unix.Close(root) }()
	// With RESOLVE_IN_ROOT, "/" is the node's.
	fd, err := openat.Open(root, path, unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
