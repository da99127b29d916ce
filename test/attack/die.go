package main

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// takeMemory takes a MiB after the other, and writes to each page.
func takeMemory() {
	const step, page = 1 << 20, 4096
	var taken [][]byte
	for {
		more := make([]byte, step)
		for i := 0; i < step; i += page {
			more[i] = 1
		}
		taken = append(taken, more)
		runtime.KeepAlive(taken)
	}
}

// forbidden has the kernel end the process at sethostname(2), and calls it.
func forbidden() error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SETHOSTNAME, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return err
	}
	return unix.Sethostname([]byte("mine"))
}
