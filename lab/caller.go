package lab

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/thread"
)

// fewFiles is how many files a small lab opens at once, and enoughFiles how many a large one does.
const (
	fewFiles    = 64
	enoughFiles = 4096
)

// leaveCaller keeps the caller's niceness, policy and small limit on open files from all that this process starts: a
// lab behaves the same for all who build it.
var leaveCaller = sync.OnceValue(func() error {
	if err := thread.Ordinary(); errors.Is(err, unix.EPERM) {
		return &exit.MissingError{
			Capability: "the usual scheduling", Reason: "engines would run with the policy or niceness of who started nines", Err: err,
			Remedy: "start nines without nice and chrt, or give it CAP_SYS_NICE",
		}
	} else if err != nil {
		return err
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	if files.Max >= enoughFiles {
		return nil // Go has raised the other limit to this one
	}
	err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: enoughFiles, Max: enoughFiles})
	if err != nil && files.Max < fewFiles {
		return &exit.MissingError{
			Capability: "open files", Reason: fmt.Sprintf("the limit is %d, which nines may not raise, and a lab takes %d", files.Max, fewFiles),
			Remedy: fmt.Sprintf("raise it (ulimit -n %d)", enoughFiles),
		}
	}
	return nil
})
