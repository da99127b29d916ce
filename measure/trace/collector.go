package trace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// collector copies what is wanted from the rings before it is overwritten.
type collector struct {
	rings []ring
	keeper
	// pending are accepted packets whose stretch may not be over.
	pending []Packet
	sources []*source
	names   *names
	tables  tables
	// heads are the rings' heads at the last look.
	heads []uint64
	last  int64
	// missed counts packets whose announcement was overwritten.
	missed  uint64
	scratch []record // of take
	// watching is nil unless threads are watched.
	watching *watching
}

const (
	// longestPause is the longest time between two looks.
	longestPause  = 100 * time.Millisecond
	shortestPause = time.Millisecond
	// share is how much of a ring may fill between two looks, which leaves as much in reserve.
	share = 0.4
)

func monotonic() int64 {
	var now unix.Timespec
	// CLOCK_MONOTONIC always exists.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

// run looks repeatedly until told to stop. It is a separate thread that sleeps in the kernel: Go's
// timers would wake several threads.
func (c *collector) run(r *Recorder) {
	runtime.LockOSThread()
	defer close(r.done)
	defer runtime.UnlockOSThread()
	if len(r.config.CollectOn) > 0 {
		var set unix.CPUSet
		for _, cpu := range r.config.CollectOn {
			set.Set(cpu)
		}
		// Best effort: otherwise it shares the CPU of the measurement, briefly.
		if unix.SchedSetaffinity(0, &set) == nil {
			defer func() { _ = unix.SchedSetaffinity(0, &r.everywhere) }()
		}
	}
	for !r.stopping.Load() {
		r.mu.Lock()
		now := monotonic()
		pause := c.look(now)
		r.clock.refresh()
		r.clock.lateFrom(c.threshold())
		// On an error the cost stays unknown.
		_ = r.cost.look(now, r.programs, r.written())
		r.mu.Unlock()
		wait := unix.NsecToTimespec(int64(pause))
		_ = unix.Nanosleep(&wait, nil)
	}
}

// look reads the announcements and copies finished stretches; it returns when to look again.
func (c *collector) look(now int64) time.Duration {
	for _, s := range c.sources {
		packets, missed := s.read()
		c.missed += missed
		for _, p := range packets {
			c.announce(p)
		}
	}
	c.watch(now)
	c.takePending(now)
	return c.pause(now)
}

func (c *collector) announce(p Packet) {
	if c.offer(p) {
		c.pending = append(c.pending, p)
	}
}

// takePending copies the finished stretches that are not held yet.
func (c *collector) takePending(now int64) {
	var ready []span
	waiting := c.pending[:0]
	for _, p := range c.pending {
		switch {
		case !c.keeps(p):
		case p.EndNs+MarginNs > now:
			waiting = append(waiting, p)
		default:
			ready = append(ready, around(p))
		}
	}
	c.pending = waiting
	if len(ready) == 0 {
		return
	}
	var pieces []piece
	for _, s := range without(merge(ready), c.held()) {
		for _, r := range c.rings {
			p := r.take(s, &c.scratch)
			c.tables.note(c.names, p.records)
			pieces = append(pieces, p)
		}
	}
	c.add(pieces...)
}

// pause is the time until the first ring has filled by its share.
func (c *collector) pause(now int64) time.Duration {
	pause := longestPause
	for i, r := range c.rings {
		head := r.head()
		if written := head - c.heads[i]; written > 0 && c.last > 0 {
			each := float64(now-c.last) / float64(written)
			pause = min(pause, time.Duration(each*float64(r.size())*share))
		}
		c.heads[i] = head
	}
	c.last = now
	return max(pause, shortestPause)
}
