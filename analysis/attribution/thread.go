package attribution

import (
	"sort"

	"nines.dev/nines/result"
)

// held says what kept a thread from going on between two times, without gaps. Spans in which it ran
// undisturbed, or slept by choice, have no cause.
func (t *timeline) held(tid int32, begin, end int64) []span {
	of := t.threads[tid]
	switch {
	case end <= begin:
		return []span{{begin, end, result.Cause{}}}
	case of == nil && t.alone(tid):
		return t.interrupted(int32(t.traced[tid].CPU), begin, end)
	case of == nil:
		return []span{{begin, end, result.Cause{}}}
	}
	var spans []span
	at := begin
	runs := of.runs.list
	next := sort.Search(len(runs), func(i int) bool { return runs[i].EndNs > at })
	for at < end {
		if next < len(runs) && runs[next].BeginNs <= at {
			until := min(runs[next].EndNs, end)
			for _, s := range t.interrupted(runs[next].CPU, at, until) {
				spans = appendSpan(spans, s)
			}
			at = max(at, until)
			next++
			continue
		}
		until := end
		var after, before *noted
		if next < len(runs) {
			after = &runs[next]
			until = min(until, after.BeginNs)
		}
		if next > 0 {
			before = &runs[next-1]
		}
		for _, s := range t.off(tid, before, after, at, until) {
			spans = appendSpan(spans, s)
		}
		at = until
	}
	return spans
}

// alone reports whether a busy-polling thread had its CPU all the time: no thread switch was recorded
// there, as on an isolated CPU.
func (t *timeline) alone(tid int32) bool {
	one, known := t.traced[tid]
	if !known || !one.Spins {
		return false
	}
	c := t.cpus[int32(one.CPU)]
	return c != nil && len(c.runs.list) == 0
}

// interrupted returns what interrupted the thread that ran on a CPU.
func (t *timeline) interrupted(number int32, begin, end int64) []span {
	return t.cpu(number).interrupted(begin, end, result.Cause{})
}

// off finds what kept a thread off the CPU between two of its runs, either of which may be
// unrecorded.
func (t *timeline) off(tid int32, before, after *noted, begin, end int64) []span {
	number := int32(-1)
	if before != nil {
		number = before.CPU
	}
	if after != nil {
		number = after.CPU
	}
	since := t.since(begin)
	before = recent(before, since)
	// Runnable since it was first woken, or all the time if it was preempted.
	runnable := end
	preempted := before != nil && before.Preempted
	woken, wasWoken := t.woken(tid, before, after, since)
	switch {
	case preempted:
		runnable = begin
	case wasWoken:
		runnable = min(max(woken, begin), end)
	case before == nil && after != nil && t.hadCPU(number, begin, t.traced[tid].Spins):
		// It was preempted or woken before the events begin: it ran next, and was not woken since.
		// A thread that sleeps may have been woken from an unrecorded CPU; if its own CPU was idle,
		// it would have run at once.
		runnable, preempted = begin, t.traced[tid].Spins
	}
	var spans []span
	asleep := result.Cause{}
	if before != nil {
		switch {
		case before.State == "T" || before.State == "t":
			asleep = result.Cause{Kind: Stopped, Name: before.Name, CPU: int(before.CPU)}
		case before.State == "D", before.State != "" && t.traced[tid].Spins:
			asleep = result.Cause{Kind: Blocked, Name: before.State, CPU: int(before.CPU)}
		}
	}
	spans = appendSpan(spans, span{begin, runnable, asleep})
	if runnable < end {
		for _, s := range t.waiting(tid, number, preempted, runnable, end) {
			spans = appendSpan(spans, s)
		}
	}
	return spans
}

// hadCPU reports whether the events show a CPU running a thread at a time or, with orIdle, being
// idle.
func (t *timeline) hadCPU(number int32, at int64, orIdle bool) bool {
	runs := t.cpu(number).runs.within(at, at+1)
	return len(runs) > 0 && (orIdle || runs[len(runs)-1].TID != 0)
}

// woken is when a thread was first made runnable between two of its runs, not before since.
func (t *timeline) woken(tid int32, before, after *noted, since int64) (int64, bool) {
	wakeups := t.threads[tid].wakeups
	from := since
	if before != nil {
		from = before.EndNs
	}
	i := sort.Search(len(wakeups), func(i int) bool { return wakeups[i] >= from })
	if i == len(wakeups) || after != nil && wakeups[i] > after.BeginNs {
		return 0, false
	}
	if before == nil { // with an unknown past, the last wake-up counts
		for i+1 < len(wakeups) && (after == nil || wakeups[i+1] <= after.BeginNs) {
			i++
		}
	}
	return wakeups[i], true
}

// ownIdle is how long after a thread's wake-up its CPU may still go idle, because it learns of the
// wake-up late, for example from a CPU that a hypervisor has preempted.
const ownIdle = 1_000_000

// sleepsAgain reports whether a CPU went idle again while a thread was runnable: it had woken up, and
// was not allowed to run the thread.
func (c *cpu) sleepsAgain(begin, end int64) bool {
	return len(c.idle.begun(begin+ownIdle, end)) > 0
}

// ofOneProgram reports whether two threads belong to the user's programs in one node: where one runs in place of the other,
// the device works.
func (t *timeline) ofOneProgram(a, b int32) bool {
	one, other := t.traced[a], t.traced[b]
	return one.Role == result.RoleService && other.Role == result.RoleService && one.Node == other.Node
}

// waiting finds what a runnable thread on a CPU waited for.
func (t *timeline) waiting(tid, number int32, preempted bool, begin, end int64) []span {
	c := t.cpu(number)
	var spans []span
	at := begin
	unknown := result.Cause{Kind: Scheduler, CPU: int(number)}
	for _, run := range c.runs.within(begin, end) {
		if run.BeginNs > at {
			spans = append(spans, c.interrupted(at, run.BeginNs, unknown)...)
			at = run.BeginNs
		}
		until := min(run.EndNs, end)
		cause := run.cause
		if t.ofOneProgram(tid, run.TID) {
			cause = result.Cause{}
		}
		if run.TID == 0 {
			// An idle CPU runs a thread at once: a woken thread waits for the CPU to wake up, and a
			// preempted one is throttled.
			cause = result.Cause{Kind: IdleExit, CPU: int(number)}
			if preempted || c.sleepsAgain(at, until) {
				cause.Kind = Throttled
			}
		}
		if until > at {
			spans = append(spans, c.interrupted(at, until, cause)...)
			at = until
		}
	}
	if at < end {
		spans = append(spans, c.interrupted(at, end, unknown)...)
	}
	return spans
}
