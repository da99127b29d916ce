package receive

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
)

// findReplaced notes a problem if the NAPI instances that were set up no longer exist.
func (r *Record) findReplaced(open func() (*netns.Namespace, error)) {
	if r.Problem != "" || len(r.NAPIs) == 0 {
		return
	}
	ns, err := open()
	if errors.Is(err, errDead) {
		return
	}
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
func (r *Record) readGuard() {
	if r.Problem == "" && r.Guard.PID > 0 && !r.Guard.Alive() {
		r.Problem = "its watchdog exited, and a thread that it stopped stays at SCHED_IDLE: " + ended(r.Guard)
	}
}

// ended says how a poller ended.
func ended(p busypoll.Poller) string {
	text := fmt.Sprintf("nines-poller has ended (process %d)", p.PID)
	if ending := p.Ending(); ending != "" {
		text += ": " + ending
	}
	if said := lastLine(p.Log); said != "" {
		return text + "; its last output was: " + said
	}
	return text + "; it printed nothing, so it was killed"
}

// readPoller reads a poller's report on its threads.
func (r *Record) readPoller() {
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
func (r *Record) readKernelThreads(open func() (*netns.Namespace, error)) {
	ns, err := open()
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
func threadOf(tid int) Thread {
	t := Thread{TID: tid}
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
