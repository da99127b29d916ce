package exit

import (
	"errors"
	"syscall"
)

// exhausted says what to do where the kernel had too little of something. EAGAIN is its answer where there may be no
// more processes (clone(2)) or locked memory (io_uring_setup(2) says ENOMEM).
var exhausted = map[syscall.Errno]string{
	syscall.EMFILE:  "raise the limit on open files (ulimit -n)",
	syscall.ENFILE:  "raise the host's limit on open files (sysctl fs.file-max)",
	syscall.ENOMEM:  "free memory, or raise the limits on it (the control group's, ulimit -l)",
	syscall.ENOBUFS: "free memory, or try again",
	syscall.ENOSPC:  "free room on the file system, or raise the kernel's limit that is reached (user.max_net_namespaces, fs.inotify)",
	syscall.EDQUOT:  "free room on the file system, or raise the user's quota",
	syscall.EAGAIN:  "try again, or raise the limit on processes (ulimit -u, the control group's pids.max)",
}

// IsExhausted is true for an error of the kernel that says that files, memory, room or processes have run out. It says nothing
// of what the host can do.
func IsExhausted(err error) bool { return Remedy(err) != "" }

// Remedy is what to do where an error says that something has run out; empty for other errors.
func Remedy(err error) string {
	for errno, remedy := range exhausted {
		if errors.Is(err, errno) {
			return remedy
		}
	}
	return ""
}
