package attribution

import (
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// timeline is everything recorded, by CPU and by thread.
type timeline struct {
	cpus    map[int32]*cpu
	threads map[int32]*thread
	// overflows are the drops of packets because of a full queue.
	overflows []result.Event
	traced    map[int32]result.TracedThread // by TID
	// stretches are the times for which events were kept, in order.
	stretches [][2]int64
}

// cpu is what ran on one CPU.
type cpu struct {
	// runs are its threads; nested is what interrupted them.
	runs, nested intervals
	// interruptions are the innermost of nested: they do not overlap.
	interruptions []span
	// others is true if it ran a thread that handles none of the packets.
	others bool
	// idle holds its idle states.
	idle intervals
	// calls are the IPIs that other CPUs sent to it, flushes its TLB flushes; both are in time
	// order.
	calls, flushes []result.Event
	// foreign are what its softirqs received of others, in time order.
	foreign []result.Event
	// losses are where its events were lost.
	losses []result.Loss
}

// thread is when one thread ran and when it was made runnable.
type thread struct {
	runs    intervals
	wakeups []int64
}

func newTimeline(events []result.Event, trace *result.Trace) *timeline {
	t := &timeline{cpus: make(map[int32]*cpu), threads: make(map[int32]*thread), traced: make(map[int32]result.TracedThread), stretches: trace.Stretches}
	for _, one := range trace.Threads {
		t.traced[int32(one.TID)] = one
	}
	for _, loss := range trace.Losses {
		c := t.cpu(int32(loss.CPU))
		c.losses = append(c.losses, loss)
	}
	for _, e := range events {
		c := t.cpu(e.CPU)
		switch e.Kind {
		case result.EventThread:
			c.runs.list = append(c.runs.list, noted{Event: e})
			if _, ours := t.traced[e.TID]; !ours {
				c.others = true
			}
			if e.TID != 0 {
				of := t.thread(e.TID)
				of.runs.list = append(of.runs.list, noted{Event: e})
			}
		case result.EventIdle:
			c.idle.list = append(c.idle.list, noted{Event: e})
		case result.EventInterrupt, result.EventSoftirq, result.EventWork, result.EventTimer:
			c.nested.list = append(c.nested.list, noted{Event: e})
		case result.EventForeign:
			c.foreign = append(c.foreign, e)
		case result.EventTLBFlush:
			c.flushes = append(c.flushes, e)
		case result.EventIPI:
			to := t.cpu(e.Other)
			to.calls = append(to.calls, e)
		case result.EventWakeup:
			of := t.thread(e.TID)
			of.wakeups = append(of.wakeups, e.BeginNs)
		case result.EventDrop:
			if isOverflow(e.Name) {
				t.overflows = append(t.overflows, e)
			}
		}
	}
	byTime := func(a, b result.Event) int { return int(min(max(a.BeginNs-b.BeginNs, -1), 1)) }
	for _, c := range t.cpus {
		c.runs.sort()
		c.nested.sort()
		c.idle.sort()
		slices.SortStableFunc(c.calls, byTime)
		slices.SortStableFunc(c.flushes, byTime)
		slices.SortStableFunc(c.foreign, byTime)
	}
	for _, of := range t.threads {
		of.runs.sort()
		slices.Sort(of.wakeups)
	}
	slices.SortStableFunc(t.overflows, byTime)
	for number, c := range t.cpus {
		t.blame(number, c)
		c.interruptions = innermost(c.nested.list)
	}
	return t
}

func (t *timeline) cpu(number int32) *cpu {
	c := t.cpus[number]
	if c == nil {
		c = &cpu{}
		t.cpus[number] = c
	}
	return c
}

func (t *timeline) thread(tid int32) *thread {
	of := t.threads[tid]
	if of == nil {
		of = &thread{}
		t.threads[tid] = of
	}
	return of
}

// since returns the time from which events were kept without a gap until at. What is known from
// before says nothing about at.
func (t *timeline) since(at int64) int64 {
	i := sort.Search(len(t.stretches), func(i int) bool { return t.stretches[i][1] >= at })
	if i == len(t.stretches) {
		return at
	}
	return min(t.stretches[i][0], at)
}

// recent returns e if it ended after since; else nil.
func recent(e *noted, since int64) *noted {
	if e == nil || e.EndNs < since {
		return nil
	}
	return e
}

// between returns the events of a time-ordered list that begin in a time range, both ends included.
func between(list []result.Event, from, to int64) []result.Event {
	first := sort.Search(len(list), func(i int) bool { return list[i].BeginNs >= from })
	last := sort.Search(len(list), func(i int) bool { return list[i].BeginNs > to })
	return list[first:max(first, last)]
}

// running returns the name of the thread that a CPU ran at a time; empty if not recorded.
func (t *timeline) running(number int32, at int64) string {
	c := t.cpus[number]
	if c == nil {
		return ""
	}
	runs := c.runs.within(at, at+1)
	if len(runs) == 0 {
		return ""
	}
	return runs[len(runs)-1].Name
}
