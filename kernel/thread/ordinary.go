package thread

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Ordinary gives all threads of this process the policy SCHED_OTHER and niceness 0, which what it starts inherits. It
// wraps unix.EPERM where the process may not leave those of its caller: sched(7), CAP_SYS_NICE.
func Ordinary() error {
	// A thread of before may have started others meanwhile.
	for changed := true; changed; {
		changed = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, one := range threads {
			tid, err := strconv.Atoi(one.Name())
			if err != nil {
				return err
			}
			was, err := unix.SchedGetAttr(tid, 0)
			if errors.Is(err, unix.ESRCH) {
				continue
			}
			if err != nil {
				return os.NewSyscallError("sched_getattr", err)
			}
			if was.Policy == unix.SCHED_NORMAL && was.Nice == 0 {
				continue
			}
			err = unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("leave %s: %w", named(was), os.NewSyscallError("sched_setattr", err))
			}
			changed = true
		}
	}
	return nil
}

// named is a policy in words.
func named(a *unix.SchedAttr) string {
	switch a.Policy {
	case unix.SCHED_NORMAL:
		return fmt.Sprintf("niceness %d", a.Nice)
	case unix.SCHED_IDLE:
		return "SCHED_IDLE"
	case unix.SCHED_BATCH:
		return "SCHED_BATCH"
	}
	return "the caller's real-time policy"
}
