package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/spec"
)

// ReceiveState is the state of an interface with a receive mode other than interrupt.
type ReceiveState struct {
	Node      string       `json:"node"`
	Interface string       `json:"interface"`
	RX        spec.Receive `json:"rx"`
	// Mechanism is the mechanism in force, and Why says why this one.
	Mechanism string `json:"mechanism"`
	Why       string `json:"why,omitempty"`
	// NAPIs are the interface's NAPI instances, one per queue.
	NAPIs []uint32 `json:"napis,omitempty"`
	// Settings are what was set on devices for it, by the names of package napi.
	Settings map[string]string `json:"settings,omitempty"`
	// Threads are the threads that receive, or that keep CPUs awake.
	Threads []ReceiveThread `json:"threads,omitempty"`
	// Problem says why there are no threads where there should be some.
	Problem string `json:"problem,omitempty"`
	// Notes say what it costs.
	Notes []string `json:"notes,omitempty"`
}

// ReceiveThread is a thread that receives, with what it has done since it was started.
type ReceiveThread struct {
	Name string `json:"name"`
	TID  int    `json:"tid"`
	CPUs []int  `json:"cpus"`
	// Scheduling is its policy as the kernel reports it, "fifo:5".
	Scheduling string `json:"scheduling"`
	// Polls and Packets are nil where they are not counted.
	Polls   *uint64 `json:"polls,omitempty"`
	Packets *uint64 `json:"packets,omitempty"`
	// Ran is its CPU time, and Waited how long others had its CPU, by schedstat.
	Ran    time.Duration `json:"ran_ns"`
	Waited time.Duration `json:"waited_ns"`
	// Slept is how long an adaptive thread slept because no packets came; BackOffs is how often the
	// watchdog stopped it.
	Slept    time.Duration `json:"slept_ns,omitempty"`
	BackOffs uint64        `json:"back_offs,omitempty"`
}

// receiveRecord is what is saved about an interface when its receive mode is set up.
type receiveRecord struct {
	ReceiveState
	// Index is the device's index in its namespace.
	Index int `json:"index"`
	// Scheduling is the policy of its threads, "idle:0".
	Scheduling string `json:"scheduling,omitempty"`
	// Poller is the process that polls or spins; none where the kernel does it alone.
	Poller busypoll.Poller `json:"poller,omitzero"`
	// Guard is the process that watches the kernel's threads; none where they need none.
	Guard busypoll.Poller `json:"guard,omitzero"`
}

// receiveRecords reads the saved records; none for a lab that uses only interrupts.
func (l *Lab) receiveRecords() ([]receiveRecord, error) {
	return replace.ReadIfThere[[]receiveRecord](l.State().Receive())
}

// receiveFaults says which interfaces of living nodes have lost their receive mode: the poller has
// ended, or the device has other NAPI instances. Apply sets it up again, and a run rebuilds the lab.
func (l *Lab) receiveFaults() ([]check.Fault, error) {
	states, err := l.Received()
	if err != nil {
		return nil, err
	}
	var faults []check.Fault
	for _, r := range states {
		if r.Problem != "" && l.Alive(r.Node) {
			of := r.Node + ":" + r.Interface
			problem := fmt.Sprintf("rx: %s of %s: receive mode changed since setup: %s", r.RX, of, r.Problem)
			faults = append(faults, check.Fault{Of: of, Part: "interface " + of, Problem: problem, Remedy: check.ReceiveAgain, Target: r.Node})
		}
	}
	return faults, nil
}

// PollRates counts for a time span how often each thread polls the lab's busy-polled interfaces, in
// polls a second by thread; nil where there are none. The kernel's own threads have no counters.
// Counting makes each poll a little more expensive, so it must not run during a trial.
func (l *Lab) PollRates(ctx context.Context, span time.Duration) (map[int]float64, error) {
	records, err := l.receiveRecords()
	if err != nil {
		return nil, err
	}
	ours := map[uint32]bool{}
	for _, r := range records {
		for _, id := range r.NAPIs {
			if r.RX == spec.ReceiveBusyPoll {
				ours[id] = true
			}
		}
	}
	if len(ours) == 0 {
		return nil, nil
	}
	polls, err := busypoll.CountPolls()
	if err != nil {
		return nil, err
	}
	defer polls.Close()
	begun := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(span):
	}
	counts, err := polls.Counts()
	if err != nil {
		return nil, err
	}
	rates := map[int]float64{}
	for poll, count := range counts {
		if ours[poll.NAPI] && !poll.Softirq() {
			rates[poll.TID] += float64(count.Polls) / time.Since(begun).Seconds()
		}
	}
	return rates, nil
}

// Received returns the current state of each interface with a receive mode other than interrupt.
func (l *Lab) Received() ([]ReceiveState, error) {
	records, err := l.receiveRecords()
	if err != nil {
		return nil, err
	}
	list := []ReceiveState{}
	for _, r := range records {
		if r.Poller.PID > 0 {
			r.readPoller()
		} else if r.RX.Polls() {
			l.readKernelThreads(&r)
			r.readGuard()
		}
		l.findReplaced(&r)
		list = append(list, r.ReceiveState)
	}
	return list, nil
}

// findReplaced notes a problem if the NAPI instances that were set up no longer exist.
func (l *Lab) findReplaced(r *receiveRecord) {
	running := l.Running(r.Node)
	if r.Problem != "" || len(r.NAPIs) == 0 || running == nil || !running.Alive() {
		return
	}
	ns, err := running.Namespace()
	if err != nil {
		r.Problem = err.Error()
		return
	}
	defer ns.Close()
	device := busypoll.Interface{Name: r.Interface, Index: r.Index}
	for _, id := range r.NAPIs {
		device.NAPIs = append(device.NAPIs, napi.Instance{ID: id})
	}
	replaced, err := busypoll.Replaced(ns, r.Mechanism, device)
	switch {
	case err != nil:
		r.Problem = err.Error()
	case replaced != "":
		r.Problem = replaced
	}
}

// readGuard notes a problem if the watchdog of the kernel's threads has exited: a thread that it
// had backed off stays so.
func (r *receiveRecord) readGuard() {
	if r.Problem == "" && r.Guard.PID > 0 && !r.Guard.Alive() {
		r.Problem = "its watchdog exited, and a thread that it stopped stays at SCHED_IDLE: " + ended(r.Guard)
	}
}

// ended says how a poller ended.
func ended(p busypoll.Poller) string {
	text := fmt.Sprintf("nines-poller has ended (process %d)", p.PID)
	if said := lastLine(p.Log); said != "" {
		return text + "; its last output was: " + said
	}
	return text + "; it printed nothing, so it was killed"
}

// readPoller reads a poller's report on its threads.
func (r *receiveRecord) readPoller() {
	if !r.Poller.Alive() {
		r.Problem = ended(r.Poller)
		return
	}
	s, err := busypoll.ReadStatistics(r.Poller.Statistics)
	if err != nil {
		r.Problem = err.Error()
		return
	}
	for _, t := range s.Threads {
		thread := threadOf(t.TID)
		if thread.Name == "" { // temporarily stopped by the watchdog
			thread.Name, thread.Scheduling = t.State, r.Scheduling
		}
		// The counters continue when a thread is stopped and started again.
		thread.CPUs, thread.Ran, thread.Waited = []int{t.CPU}, t.CPUTime, t.Waited
		thread.Polls, thread.Packets = t.Slices, t.Packets
		thread.Slept, thread.BackOffs = t.Slept, t.BackOffs
		if t.State == busypoll.StaleThread {
			r.Problem = "nines-poller polls no more: " + lastLine(r.Poller.Log)
		}
		r.Threads = append(r.Threads, thread)
	}
}

func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// readKernelThreads finds the kernel threads that receive.
func (l *Lab) readKernelThreads(r *receiveRecord) {
	running := l.Running(r.Node)
	if running == nil || !running.Alive() {
		r.Problem = "the node is dead"
		return
	}
	ns, err := running.Namespace()
	if err != nil {
		r.Problem = err.Error()
		return
	}
	defer ns.Close()
	err = ns.Do(func() error {
		if r.Mechanism == string(spec.PollLivepatch) {
			r.Threads, r.Problem, err = livepatchThreads(r.Index)
			return err
		}
		tids := map[int]string{}
		instances, err := napi.List(r.Index)
		switch {
		case errors.Is(err, napi.ErrNoFamily), errors.Is(err, napi.ErrNoNAPIGet):
			if tids, err = napi.Threads(r.Interface); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		for _, i := range instances {
			if i.PID > 0 {
				tids[i.PID] = ""
			}
		}
		// Sorted, because two readings are compared by position.
		for _, tid := range slices.Sorted(maps.Keys(tids)) {
			r.Threads = append(r.Threads, threadOf(tid))
		}
		return nil
	})
	switch {
	case err != nil:
		r.Problem = err.Error()
	case len(r.Threads) == 0 && r.Problem == "":
		r.Problem = "its kernel threads are gone: threaded NAPI was turned off"
	}
}

// threadOf reads what the kernel reports about a thread; an ended thread has only its id.
func threadOf(tid int) ReceiveThread {
	t := ReceiveThread{TID: tid}
	dir := filepath.Join("/proc", strconv.Itoa(tid))
	if name, err := os.ReadFile(filepath.Join(dir, "comm")); err == nil {
		t.Name = strings.TrimSpace(string(name))
	}
	if placed, err := napi.PlacementOf(tid); err == nil {
		t.CPUs = placed.CPUs
		t.Scheduling, _, _ = strings.Cut(placed.String(), "@")
	}
	// Documentation/scheduler/sched-stats.rst: ns on the CPU, ns waiting for it.
	if text, err := os.ReadFile(filepath.Join(dir, "schedstat")); err == nil {
		_, _ = fmt.Sscanf(string(text), "%d %d", (*int64)(&t.Ran), (*int64)(&t.Waited))
	}
	return t
}
