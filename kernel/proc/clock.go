package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc/PID/stat, USER_HZ on every architecture that nines runs on.
const tick = 10 * time.Millisecond

// initialTime is the inode of the host's time namespace, PROC_TIME_INIT_INO in include/linux/proc_ns.h.
const initialTime = 0xEFFFFFFA

// clock is how our time namespace shows the time since boot: ahead of the host's by ticks, and by part of one.
type clock struct {
	ticks int64
	part  time.Duration
}

// ours is known once it was read: a program with threads cannot change its time namespace (timens_install,
// kernel/time/namespace.c).
var ours atomic.Pointer[clock]

// SinceBoot takes a start from /proc/PID/stat, in clock ticks, as the host sees it: the kernel adds to it what the time
// namespace of the *reader* is ahead (do_task_stat in fs/proc/array.c; Linux 5.6). So a process has the same start for
// all readers, inside time namespaces and outside.
func SinceBoot(ticks uint64) (uint64, error) {
	c, err := ourClock()
	if err != nil {
		return 0, err
	}
	return c.sinceBoot(ticks), nil
}

// sinceBoot may be one tick early if the clock is ahead by part of a tick: the kernel rounds the sum.
func (c clock) sinceBoot(ticks uint64) uint64 {
	if c.part > 0 {
		c.ticks++
	}
	return uint64(int64(ticks) - c.ticks)
}

// isSame reports whether a start that this clock has shown is the one that another has.
func (c clock) isSame(shown, known uint64) bool {
	return shown == known || c.part > 0 && shown+1 == known
}

func ourClock() (clock, error) {
	if c := ours.Load(); c != nil {
		return *c, nil
	}
	c, err := readClock()
	if err != nil {
		// Never an error that says of a process that it is gone.
		return clock{}, fmt.Errorf("find out how our time namespace shows the time since boot: %s", err)
	}
	ours.Store(&c)
	return c, nil
}

func readClock() (clock, error) {
	// timens_offsets is of the namespace in which our children will be: not ours where the program that started us
	// has unshared it and not forked, and the kernel's execve does not change over, as that of Linux 5.6.
	var in unix.Stat_t
	switch err := unix.Stat("/proc/self/ns/time", &in); {
	case errors.Is(err, fs.ErrNotExist):
		return clock{}, nil // the kernel has no time namespaces
	case err != nil:
		return clock{}, os.NewSyscallError("stat /proc/self/ns/time", err)
	case in.Ino == initialTime:
		return clock{}, nil
	}
	text, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return clock{}, err
	}
	return parseOffsets(string(text))
}

// parseOffsets reads /proc/PID/timens_offsets, time_namespaces(7): lines of a clock, seconds and nanoseconds. The
// nanoseconds are never negative.
func parseOffsets(text string) (clock, error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "boottime" {
			continue
		}
		seconds, err := strconv.ParseInt(fields[1], 10, 64)
		nanoseconds, also := strconv.ParseInt(fields[2], 10, 64)
		if err = errors.Join(err, also); err != nil {
			return clock{}, err
		}
		return clock{
			ticks: seconds*int64(time.Second/tick) + nanoseconds/int64(tick),
			part:  time.Duration(nanoseconds) % tick,
		}, nil
	}
	return clock{}, fmt.Errorf("%q has no line for the clock boottime", text)
}
