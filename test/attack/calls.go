package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts are system calls that succeed for root on the host.
var attempts = []struct {
	name string
	try  func() error
}{
	{"bpf", func() error {
		// BPF_MAP_CREATE: a hash of one entry, keys of 4 and values of 8 bytes (union bpf_attr in linux/bpf.h).
		attr := [16]uint32{1, 4, 8, 1}
		return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}},
	{"perf_event_open", func() error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
		attr.Size = uint32(unsafe.Sizeof(attr))
		_, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC) // all tasks of a CPU
		return err
	}},
	{"keyctl", func() error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	}},
	{"userfaultfd", func() error { return call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0) }},
	{"io_uring_setup", func() error {
		var parameters [120]byte // struct io_uring_params in linux/io_uring.h
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	}},
	{"user namespace", func() error {
		child := exec.Command("/proc/self/exe", "nothing")
		child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return child.Run()
	}},
	{"/proc/kcore", func() error { return readable("/proc/kcore") }},
	{"/proc/timer_list", func() error { return readable("/proc/timer_list") }},
}

func call(number, first, second, third uintptr) error {
	if _, _, errno := unix.Syscall(number, first, second, third); errno != 0 {
		return errno
	}
	return nil
}

// readable is nil if a file has something in it.
func readable(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Read(make([]byte, 1))
	return err
}

func calls() {
	for _, a := range attempts {
		ending := "succeeds"
		if err := a.try(); err != nil {
			ending = err.Error()
			if errno := syscall.Errno(0); errors.As(err, &errno) {
				ending = unix.ErrnoName(errno)
			}
		}
		fmt.Printf("%s\t%s\n", a.name, ending)
	}
}
