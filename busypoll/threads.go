package busypoll

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/kernel/napi"
)

// Thread is what a thread that polls, receives or spins has done so far; the difference of
// two is what it did in between.
type Thread struct {
	TID int `json:"tid"`
	// Name is empty for a thread that has ended, as one does that backs off.
	Name string `json:"name"`
	// Placement is its policy and CPUs: "idle:0@1".
	Placement string `json:"placement"`
	// State is a poller's name for its state; empty for kernel threads.
	State string `json:"state,omitempty"`
	// CPUTime is its time on a CPU, and Waited its wait for one while others had it,
	// from schedstat.
	CPUTime time.Duration `json:"cpu_time_ns"`
	Waited  time.Duration `json:"waited_ns"`
	// Slept, Naps, BackOffs and BackedOff are those of ThreadStatistics.
	Slept     time.Duration `json:"slept_ns,omitempty"`
	Naps      uint64        `json:"naps,omitempty"`
	BackOffs  uint64        `json:"back_offs,omitempty"`
	BackedOff time.Duration `json:"backed_off_ns,omitempty"`
	// Preemptions are its involuntary context switches.
	Preemptions uint64 `json:"preemptions"`
}

// Threads reads the threads that are in use: the poller's, or the kernel's for its
// interfaces. It leaves out kernel threads that have ended.
func (run *Running) Threads() ([]Thread, error) {
	if run.Poller != nil {
		statistics, err := ReadStatistics(run.Poller.Statistics)
		if err != nil {
			return nil, err
		}
		var list []Thread
		for _, t := range statistics.Threads {
			thread, err := readThread(t.TID)
			if err != nil { // it has ended, as it does to back off; another will take its slot
				thread = Thread{TID: t.TID, Placement: fmt.Sprintf("%s@%d", run.Scheduling, t.CPU), CPUTime: t.CPUTime, Waited: t.Waited, Preemptions: t.Preemptions}
			}
			thread.State, thread.Slept, thread.Naps = t.State, t.Slept, t.Naps
			thread.BackOffs, thread.BackedOff = t.BackOffs, t.BackedOff
			list = append(list, thread)
		}
		return list, nil
	}
	var list []Thread
	guarded := run.guarded()
	for _, tid := range run.kernelThreads() {
		if thread, err := readThread(tid); err == nil {
			thread.BackOffs, thread.BackedOff = guarded[tid].BackOffs, guarded[tid].BackedOff
			list = append(list, thread)
		}
	}
	return list, nil
}

// guarded is what the guard did to threads, by TID. A thread on several CPUs has several
// entries in the statistics.
func (run *Running) guarded() map[int]Thread {
	sums := map[int]Thread{}
	if run.Guard == nil {
		return sums
	}
	statistics, err := ReadStatistics(run.Guard.Statistics)
	if err != nil {
		return sums // it is already noted that the guard is gone
	}
	for _, t := range statistics.Threads {
		sum := sums[t.TID]
		sums[t.TID] = Thread{BackOffs: sum.BackOffs + t.BackOffs, BackedOff: sum.BackedOff + t.BackedOff}
	}
	return sums
}

// kernelThreads are the threads that the kernel reported for the instances, or, if it
// reports none, those that were placed.
func (run *Running) kernelThreads() (tids []int) {
	for _, i := range run.Interfaces {
		known := false
		for _, instance := range i.NAPIs {
			known = known || instance.PID > 0
			if instance.PID > 0 {
				tids = append(tids, instance.PID)
			}
		}
		for setting := range i.Changed {
			if tid, found := strings.CutPrefix(setting, "thread/"); found && !known {
				if id, err := strconv.Atoi(tid); err == nil {
					tids = append(tids, id)
				}
			}
		}
	}
	slices.Sort(tids)
	return slices.Compact(tids)
}

// readThread reads a thread's folder in /proc, which exists for a process's other threads
// too, though unlisted: schedstat has the time on a CPU and the time waiting for one, in
// nanoseconds (Documentation/scheduler/sched-stats.rst).
func readThread(tid int) (Thread, error) {
	t := Thread{TID: tid}
	placement, err := napi.PlacementOf(tid)
	if err != nil {
		return t, err
	}
	t.Placement = placement.String()
	for file, use := range map[string]func(string) error{
		"comm": func(text string) error { t.Name = strings.TrimSpace(text); return nil },
		"schedstat": func(text string) error {
			_, err := fmt.Sscan(text, &t.CPUTime, &t.Waited)
			return err
		},
		"status": func(text string) error {
			_, after, found := strings.Cut(text, "\nnonvoluntary_ctxt_switches:")
			if !found {
				return nil
			}
			_, err := fmt.Sscan(after, &t.Preemptions)
			return err
		},
	} {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), file))
		if err == nil {
			err = use(string(text))
		}
		if err != nil {
			return t, fmt.Errorf("thread %d: %w", tid, err)
		}
	}
	return t, nil
}
