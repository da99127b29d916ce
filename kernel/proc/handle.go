package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Handle keeps a process that is not our child, so that it can be asked how it ended.
type Handle struct{ fd int }

// Open opens a process that runs; the error is ESRCH for one that has ended.
func (id Identity) Open() (*Handle, error) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	// After opening, so that the checked process is the one that is open.
	if !id.Alive() {
		return nil, errors.Join(os.NewSyscallError("pidfd_open", unix.ESRCH), unix.Close(fd))
	}
	return &Handle{fd}, nil
}

// Status is how the process ended; not known while it runs or nobody has reaped it, and on kernels
// that do not tell (before Linux 6.15, PIDFD_INFO_EXIT in include/uapi/linux/pidfd.h).
func (h *Handle) Status() (status unix.WaitStatus, known bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(h.fd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return 0, false
	}
	return unix.WaitStatus(info.Exit_code), true
}

// Close closes the handle.
func (h *Handle) Close() error { return unix.Close(h.fd) }
