package measure

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Idle is the part of the time of all CPUs, in a while from now, that nobody used.
func Idle(ctx context.Context, length time.Duration) (float64, error) {
	idleBefore, allBefore, err := readTimes()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(length):
	}
	idle, all, err := readTimes()
	if err != nil {
		return 0, err
	}
	if all == allBefore {
		return 0, fmt.Errorf("the CPUs' times stand still")
	}
	return float64(idle-idleBefore) / float64(all-allBefore), nil
}

func readTimes() (idle, all int64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read the CPUs' times: %w", err)
	}
	return parseTimes(string(text))
}

// parseTimes reads the line of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal
// (Documentation/filesystems/proc.rst). What follows is in user and nice already. Time that waits
// for a disk is free for a trial.
func parseTimes(text string) (idle, all int64, err error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %.40q, and not with the times of all CPUs", line)
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
