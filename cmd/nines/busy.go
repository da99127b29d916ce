package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cputime"
	"nines.dev/nines/spec"
)

const (
	// pollers is how many threads poll in a network that nines makes up: the generator's and the forwarder's.
	pollers = 2
	// lookAround is how long the CPUs are watched before.
	lookAround = 500 * time.Millisecond
	// spare is how much of each poller's CPU others may take: less than this part.
	spare = 0.1
)

// sleepIfBusy has the engines of the built-in duet sleep where other programs want the CPUs: one that polls then waits for
// milliseconds, again and again, and one that sleeps, with a real-time priority, is before the others as soon as it is woken.
func sleepIfBusy(ctx context.Context, file *spec.File, say func(format string, args ...any)) error {
	others, err := crowd(ctx)
	if err != nil || others == "" {
		return err
	}
	sets, how := []string{"traffic.wait=block", "nodes.*.app.wait=block"}, "sleep until packets come"
	if mayBeRealTime() {
		sets, how = append(sets, "nodes.*.scheduling={policy: fifo, priority: 1}"), how+", at real-time priority 1"
	}
	for _, set := range sets {
		if err := file.Set(set); err != nil {
			return fmt.Errorf("%s, on a busy host: %w", file.Name(), err)
		}
	}
	say("%s: %s, so the engines %s; --set traffic.wait=spin lets them poll", file.Name(), others, how)
	return nil
}

// crowd says how many CPUs other programs use; it is empty where enough are left for threads that poll.
func crowd(ctx context.Context) (string, error) {
	free, err := cputime.Free(ctx, lookAround)
	if err != nil || free >= pollers*(1-spare) {
		return "", err
	}
	return fmt.Sprintf("other programs use %.1f of %d CPUs", float64(runtime.NumCPU())-free, runtime.NumCPU()), nil
}

// mayBeRealTime tries it on a thread of its own, which ends with it.
func mayBeRealTime() bool {
	answer := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		answer <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) == nil
	}()
	return <-answer
}
