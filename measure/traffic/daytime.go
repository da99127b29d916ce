package traffic

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
)

// moment is one instant by an engine's CLOCK_MONOTONIC, in which trials are agreed, and by this
// host's time of day. The zero moment is unknown.
type moment struct {
	monotonicNs int64
	day         time.Time
}

// dayOf is the time of day at a time of CLOCK_MONOTONIC; zero if the moment is unknown.
func (m moment) dayOf(monotonicNs int64) time.Time {
	if m.day.IsZero() {
		return time.Time{}
	}
	return m.day.Add(time.Duration(monotonicNs - m.monotonicNs))
}

// readMoment reads the clocks of this host, the time of day between two readings of the other. Of
// several tries it returns the closest, as the thread may lose its CPU in between.
func readMoment() (best moment, err error) {
	closest := int64(math.MaxInt64)
	for range 5 {
		before, err := monotonicNs()
		if err != nil {
			return moment{}, err
		}
		day := time.Now().Round(0) // without Go's own monotonic time
		after, err := monotonicNs()
		if err != nil {
			return moment{}, err
		}
		if took := after - before; took < closest {
			closest, best = took, moment{before + took/2, day}
		}
	}
	return best, nil
}

// hostStart is when a trial begins, by this host's clock. A guest's start is as long after it said
// so as its own clock tells.
func hostStart(s client.Started, guest bool) int64 {
	now, err := monotonicNs()
	if !guest || err != nil {
		return s.StartNs
	}
	return now + s.StartNs - s.NowNs
}

// momentOf is the moment at which an engine says that its trial begins. A guest has a clock of its
// own, which is known only from what it says, and so late by the way here.
func momentOf(s client.Started, guest bool) moment {
	here, err := readMoment()
	if err != nil {
		return moment{}
	}
	if guest {
		return moment{s.NowNs, here.day}
	}
	return here
}

func monotonicNs() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
	}
	return now.Nano(), nil
}
