package busypoll

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/napi"
)

// Probe asks the running kernel for its features by trying, not by its version:
// distributions backport single features to old kernels and leave others out of new ones.
// It changes nothing, and needs no privileges except where a Lack says so.
func Probe() Features {
	var f Features
	if _, err := napi.List(); err != nil {
		f.NAPIGet = lack("", err)
	}
	policy, err := napi.SetPolicy()
	switch {
	case err != nil:
		f.Netlink, f.Suspend = lack("", err), lack("", err)
	default:
		if !policy.BusyThreads() {
			f.Netlink = "the kernel's napi-set does not support threaded: busy-poll (Linux 6.19)"
		}
		if !policy.Suspends() {
			f.Suspend = "the kernel's napi-set does not support irq-suspend-timeout (Linux 6.13)"
		}
	}
	f.IOUring = probeIOUring()
	f.Epoll = probeEpoll()
	if _, err := napi.Attribute("threaded").Read("lo"); errors.Is(err, fs.ErrNotExist) {
		f.Threaded = "devices have no attribute threaded (Linux 5.12)"
	} else if err != nil {
		f.Threaded = lack("", err)
	}
	f.Livepatch = probeLivepatch()
	return f
}

// lack says what is not there, and the kernel's error. What had run out in the try says nothing of the feature.
func lack(what string, err error) Lack {
	if exit.IsExhausted(err) {
		what = untold
	}
	return Lack(what + err.Error())
}

// ioUringNAPI is struct io_uring_napi of include/uapi/linux/io_uring.h. Before 6.13 the
// fields after PreferBusyPoll were reserved and had to be 0, so that a request for static
// tracking tells the two apart.
type ioUringNAPI struct {
	BusyPollMicroseconds uint32
	PreferBusyPoll       uint8
	Operation            uint8
	_                    [2]uint8
	Parameter            uint32
	_                    uint32
}

const (
	ioUringRegisterNAPI   = 27
	ioUringTrackingStatic = 1
)

func probeIOUring() Lack {
	// struct io_uring_params: 120 bytes, all 0 for a plain ring.
	var parameters [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	switch errno {
	case 0:
	case unix.EPERM:
		return "io_uring is not allowed here (sysctl kernel.io_uring_disabled)"
	default:
		return lack("the kernel has no io_uring: ", errno)
	}
	defer unix.Close(int(fd))
	static := ioUringNAPI{BusyPollMicroseconds: 1, Parameter: ioUringTrackingStatic}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, fd, ioUringRegisterNAPI, uintptr(unsafe.Pointer(&static)), 1, 0, 0); errno != 0 {
		return lack("io_uring does not support static NAPI ids (Linux 6.13): ", errno)
	}
	return ""
}

// epollGetParameters is EPIOCGPARAMS of include/uapi/linux/eventpoll.h.
const epollGetParameters = 0x80088a02

func probeEpoll() Lack {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return lack("", os.NewSyscallError("epoll_create1", err))
	}
	defer unix.Close(fd)
	var parameters [8]byte // struct epoll_params
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), epollGetParameters, uintptr(unsafe.Pointer(&parameters))); errno != 0 {
		return lack("epoll does not support busy poll parameters (Linux 6.9): ", errno)
	}
	return ""
}
