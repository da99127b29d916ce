// Package openat opens files below a folder, by openat2(2).
package openat

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Open opens a path below the folder dir as how says. It tries again as long as the kernel says EAGAIN:
// something was renamed or mounted meanwhile, anywhere on the host, so that the kernel cannot be sure that a
// path which it holds below a folder has stayed there.
func Open(dir int, path string, how unix.OpenHow) (int, error) {
	how.Flags |= unix.O_CLOEXEC
	for {
		fd, err := unix.Openat2(dir, path, &how)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}
