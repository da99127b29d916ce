// Package cputime reads what CPUs spend their time with.
package cputime

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Idle measures, for a time from now, the fraction of CPU time that was idle, over all CPUs.
func Idle(ctx context.Context, length time.Duration) (float64, error) {
	before, err := Now()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(length):
	}
	return before.IdleSince()
}

// Times are what all CPUs have spent since the boot, in ticks.
type Times struct{ idle, all int64 }

// Now reads the times.
func Now() (Times, error) {
	idle, all, err := readTimes()
	return Times{idle, all}, err
}

// IdleSince returns the fraction of CPU time that was idle from then to now.
func (t Times) IdleSince() (float64, error) {
	now, err := Now()
	if err != nil {
		return 0, err
	}
	if now.all == t.all {
		return 0, fmt.Errorf("/proc/stat does not advance")
	}
	return float64(now.idle-t.idle) / float64(now.all-t.all), nil
}

// Free measures, for a time from now, how many of this host's CPUs are idle.
func Free(ctx context.Context, length time.Duration) (free float64, err error) {
	idle, err := Idle(ctx, length)
	return idle * float64(runtime.NumCPU()), err
}

func readTimes() (idle, all int64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read CPU times: %w", err)
	}
	return parseTimes(string(text))
}

// parseTimes reads the line of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal
// (Documentation/filesystems/proc.rst). The fields after these are included in user and nice. iowait counts as
// idle: a trial can use that time.
func parseTimes(text string) (idle, all int64, err error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %.40q, not with the times of all CPUs", line)
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		all += ticks
		if i == 3 || i == 4 {
			idle += ticks
		}
	}
	return idle, all, nil
}
