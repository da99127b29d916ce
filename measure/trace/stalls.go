package trace

import (
	"cmp"
	"math"
	"slices"

	"nines.dev/nines/result"
)

// Stall is a stretch in which a thread was runnable but did not run.
type Stall struct {
	ID             uint32 // of the Packet that requests its events
	TID            int
	CPU            int
	Kind           StallKind
	BeginNs, EndNs int64
}

// LengthNs is its length.
func (s Stall) LengthNs() int64 { return s.EndNs - s.BeginNs }

// StallKind says how a thread was kept from running.
type StallKind uint8

// The kinds of stalls.
const (
	// Woken lasts from its wake-up until it ran.
	Woken StallKind = iota
	// Preempted lasts from when another took its CPU until it ran again.
	Preempted
	// Interrupted is while interrupts and softirqs had its CPU in the middle of its work.
	Interrupted
	// Stopped lasts from when a signal or a debugger stopped it until it ran again.
	Stopped
	StallKinds
)

func (k StallKind) String() string {
	return [StallKinds]string{"woken late", "preempted", "interrupted", "stopped"}[k]
}

// ThreadStalls is what kept one thread from running.
type ThreadStalls struct {
	TID  int
	Name string
	CPU  int // its last CPU; -1: none
	// RanNs is how long it had a CPU, and SleptNs how long it wanted none.
	RanNs, SleptNs int64
	Switches       uint64
	// Lengths are the lengths of all its stalls by kind.
	Lengths [StallKinds]Lengths
}

// Lengths are the lengths of stalls. A histogram takes 220 kB, and a build has thousands of threads
// with some stalls each: a short list comes first.
type Lengths struct {
	few  []int64
	many *result.Histogram
}

// fewLengths is the maximum length of the list.
const fewLengths = 256

func (l *Lengths) record(ns int64) {
	switch {
	case l.many != nil:
		l.many.Record(ns)
	case len(l.few) < fewLengths:
		l.few = append(l.few, ns)
	default:
		l.many, l.few = l.Histogram(), nil
		l.many.Record(ns)
	}
}

// Histogram returns the histogram of all lengths.
func (l *Lengths) Histogram() *result.Histogram {
	if l.many != nil {
		return l.many
	}
	h := result.NewHistogram()
	for _, ns := range l.few {
		h.Record(ns)
	}
	return h
}

// stalls finds what kept threads from running, in the time-ordered records of all CPUs. It is pure.
type stalls struct {
	threads map[uint32]*stalling
	cpus    map[int]*busyCPU
	// found are those of at least thresholdNs, at most about 4 times most.
	thresholdNs int64
	most        int
	found       []Stall
	next        uint32
	dropped     bool
}

// stalling is the state of a thread.
type stalling struct {
	ThreadStalls
	state threadState
	since int64
}

type threadState uint8

const (
	unknown threadState = iota
	running
	waitingWoken
	waitingPreempted
	waitingStopped
	sleeping
)

// busyCPU is the state of a CPU.
type busyCPU struct {
	number int
	thread uint32
	// over are finished interrupts that may lie in an unfinished softirq.
	over []span
	// depth is the nesting depth of interrupts and softirqs, and since when.
	depth int
	since int64
}

func newStalls(thresholdNs int64, most int) *stalls {
	return &stalls{threads: make(map[uint32]*stalling), cpus: make(map[int]*busyCPU), thresholdNs: thresholdNs, most: most}
}

// watch starts watching a thread, or updates its name.
func (s *stalls) watch(tid uint32, name string) {
	if known := s.threads[tid]; known != nil {
		known.Name = name
		return
	}
	s.threads[tid] = &stalling{ThreadStalls: ThreadStalls{TID: int(tid), Name: name, CPU: -1}}
}

// placed is a record and its CPU.
type placed struct {
	record
	cpu int
}

// step takes the next record; it passes each long enough stall to announce.
func (s *stalls) step(r placed, announce func(Stall)) {
	switch r.kind {
	case kindSwitch:
		s.switched(r, announce)
	case kindWaking, kindWakeup:
		if t := s.threads[uint32(r.a)]; t != nil && (t.state == sleeping || t.state == unknown) {
			t.leave(r.ns)
			t.state, t.since = waitingWoken, r.ns
		}
	case kindSpan:
		c := s.cpu(r.cpu)
		s.interrupted(c, span{r.begin(), r.ns})
		if r.span() == spanSoftirq { // which is not nested
			s.settle(c, announce)
		}
	case kindIRQEntry, kindVectorEntry, kindSoftirqEntry:
		c := s.cpu(r.cpu)
		if c.depth == 0 {
			c.since = r.ns
		}
		c.depth++
	case kindIRQExit, kindVectorExit, kindSoftirqExit:
		c := s.cpu(r.cpu)
		if c.depth == 0 {
			return // it was running already
		}
		if c.depth--; c.depth > 0 {
			return
		}
		s.interrupted(c, span{c.since, r.ns})
		s.settle(c, announce)
	}
}

// interrupted takes a finished interrupt or softirq, with those nested in it.
func (s *stalls) interrupted(c *busyCPU, whole span) {
	for n := len(c.over); n > 0 && c.over[n-1].begin >= whole.begin; n-- {
		c.over = c.over[:n-1]
	}
	c.over = append(c.over, whole)
}

// settle counts the interrupts of a CPU that are not nested in another.
func (s *stalls) settle(c *busyCPU, announce func(Stall)) {
	if t := s.threads[c.thread]; t != nil && t.state == running {
		for _, o := range c.over {
			s.stalled(t, Interrupted, c.number, max(o.begin, t.since), o.end, announce)
		}
	}
	c.over = c.over[:0]
}

func (s *stalls) switched(r placed, announce func(Stall)) {
	c := s.cpu(r.cpu)
	s.settle(c, announce)
	// No switch happens within an interrupt: an unended one is a lost record.
	c.depth, c.thread = 0, uint32(r.b)
	if t := s.threads[uint32(r.a)]; t != nil {
		t.leave(r.ns)
		t.state, t.since, t.CPU = sleeping, r.ns, r.cpu
		switch state := stateOf(r.part); {
		case r.flags&flagRunnable != 0:
			t.state = waitingPreempted
		case state == "T" || state == "t":
			t.state = waitingStopped
		case state == "X" || state == "Z":
			t.state = unknown // it has ended
		}
	}
	t := s.threads[uint32(r.b)]
	if t == nil {
		return
	}
	switch t.state {
	case waitingWoken:
		s.stalled(t, Woken, r.cpu, t.since, r.ns, announce)
	case waitingPreempted:
		s.stalled(t, Preempted, r.cpu, t.since, r.ns, announce)
	case waitingStopped:
		s.stalled(t, Stopped, r.cpu, t.since, r.ns, announce)
	}
	t.leave(r.ns)
	t.state, t.since, t.CPU = running, r.ns, r.cpu
	t.Switches++
}

// leave counts the time in a state.
func (t *stalling) leave(now int64) {
	switch t.state {
	case running:
		t.RanNs += now - t.since
	case sleeping:
		t.SleptNs += now - t.since
	}
}

func (s *stalls) stalled(t *stalling, kind StallKind, cpu int, begin, end int64, announce func(Stall)) {
	if end < begin {
		return
	}
	t.Lengths[kind].record(end - begin)
	if end-begin < s.thresholdNs {
		return
	}
	stall := Stall{ID: s.next, TID: t.TID, CPU: cpu, Kind: kind, BeginNs: begin, EndNs: end}
	s.next++
	s.found = append(s.found, stall)
	if len(s.found) >= 4*max(s.most, 1) {
		s.found, s.dropped = s.slowest(), true
	}
	announce(stall)
}

// slowest returns the longest found, longest first.
func (s *stalls) slowest() []Stall {
	sorted := slices.SortedStableFunc(slices.Values(s.found), func(a, b Stall) int { return cmp.Compare(b.LengthNs(), a.LengthNs()) })
	return sorted[:min(len(sorted), s.most)]
}

func (s *stalls) cpu(n int) *busyCPU {
	c := s.cpus[n]
	if c == nil {
		c = &busyCPU{number: n, thread: math.MaxUint32}
		s.cpus[n] = c
	}
	return c
}

// each returns the threads in numeric order, including their current state's time.
func (s *stalls) each(now int64) []ThreadStalls {
	var list []ThreadStalls
	for _, t := range s.threads {
		c := *t
		c.leave(now)
		list = append(list, c.ThreadStalls)
	}
	slices.SortFunc(list, func(a, b ThreadStalls) int { return cmp.Compare(a.TID, b.TID) })
	return list
}
