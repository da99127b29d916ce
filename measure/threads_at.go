package measure

import (
	"time"

	"nines.dev/nines/measure/trace"
)

// threadsAt is what threads have done up to a time.
type threadsAt struct {
	at    time.Time
	slept map[int]int64 // how often, by TID
	ran   map[int]threadTime
}

// threadsNow reads that of the programs in nodes.
func threadsNow(programs map[string][]trace.Thread) threadsAt {
	now := threadsAt{time.Now(), map[int]int64{}, map[int]threadTime{}}
	processes := map[int]bool{}
	for _, threads := range programs {
		for _, thread := range threads {
			now.slept[thread.TID] = thread.Slept
			if !processes[thread.PID] {
				processes[thread.PID] = true
				readThreads("/", thread.PID, now.ran)
			}
		}
	}
	return now
}

// polled are the threads that have not slept since an earlier time, and ran for at least a tenth of it. The kernel counts
// the time of a thread at its tick, on a CPU without one once a second (kernel/sched/core.c, sched_tick_remote).
func (now threadsAt) polled(since threadsAt) map[int]bool {
	list := map[int]bool{}
	for tid, slept := range now.slept {
		before, known := since.slept[tid]
		ran := now.ran[tid].ran - since.ran[tid].ran
		list[tid] = known && before == slept && ran > 0 && 10*ran >= now.at.Sub(since.at)
	}
	return list
}
