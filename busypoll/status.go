package busypoll

import (
	"context"
	"errors"
	"os"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
)

// State is a session's state.
type State string

// The states of a session.
const (
	StateRunning State = "running"
	// StateInterrupted was not fully set up; stop undoes the rest.
	StateInterrupted State = "interrupted"
	// StateGone has lost its namespace, with all that it changed there.
	StateGone State = "gone"
	// StateDead has lost its poller, so its packets wait for a timer; stop it.
	StateDead State = "dead"
	// StateStale has lost NAPI instances, for the reason in Stale, and receives by
	// interrupts again; stop and start it.
	StateStale State = "stale"
	// StateRebooted is of an earlier boot.
	StateRebooted State = "rebooted"
)

// Status is the current status of a session.
type Status struct {
	Record
	State State `json:"state"`
	// Stale is the reason for StateStale.
	Stale string `json:"stale,omitempty"`
	// Over is the time over which the rates were measured.
	Over time.Duration `json:"over_ns"`
	// Threads are those that poll, receive or spin.
	Threads []ThreadUse `json:"threads,omitempty"`
	// PollsPerSecond is nil if polls could not be counted, for the reason in Uncounted.
	PollsPerSecond *float64 `json:"polls_per_second,omitempty"`
	// PacketsPerSecond are packets that any thread or softirq received by polls, and
	// SoftirqShare is the softirqs' share of them: 0 while polling works.
	PacketsPerSecond *float64 `json:"packets_per_second,omitempty"`
	SoftirqShare     *float64 `json:"softirq_share,omitempty"`
	Uncounted        string   `json:"uncounted,omitempty"`
}

// ThreadUse is what a thread did during a Status.
type ThreadUse struct {
	Thread
	// CPUUse is the share of one CPU that it had, 0 to 1, and WaitedShare the share of
	// the time that it waited for one.
	CPUUse      float64 `json:"cpu_use"`
	WaitedShare float64 `json:"waited_share"`
	// PollsPerSecond and PacketsPerSecond are nil if polls could not be counted.
	PollsPerSecond   *float64 `json:"polls_per_second,omitempty"`
	PacketsPerSecond *float64 `json:"packets_per_second,omitempty"`
}

// HeldUp is true for a real-time thread that was kept from its CPU for longer than
// occasional interrupts and kernel threads explain. The kernel does not tell whether
// threads of a higher priority or throttling was the cause (kernel.sched_rt_runtime_us, 5 %
// of each second by default, or Linux 6.12's fair server).
func (t ThreadUse) HeldUp() bool {
	placement, err := napi.ParsePlacement(t.Placement)
	return err == nil && placement.RealTime() && t.WaitedShare > 0.02
}

// Status returns the session's status after watching it for a while.
func (s Session) Status(ctx context.Context, watch time.Duration) (*Status, error) {
	record, err := s.Record()
	if errors.Is(err, ErrNoSession) {
		if _, there := os.Stat(s.dir()); there == nil { // interrupted before there was a record
			return &Status{Record: Record{Name: s.Name}, State: StateInterrupted}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	status := &Status{Record: *record}
	if status.State, status.Stale, err = s.state(record); err != nil || status.State != StateRunning {
		return status, err
	}
	return status, status.watch(ctx, watch)
}

// State is the session's state now, and the reason for StateStale.
func (s Session) State() (state State, stale string, err error) {
	record, err := s.Record()
	if errors.Is(err, ErrNoSession) {
		if _, there := os.Stat(s.dir()); there == nil {
			return StateInterrupted, "", nil
		}
	}
	if err != nil {
		return "", "", err
	}
	return s.state(record)
}

func (s Session) state(r *Record) (state State, stale string, err error) {
	j, err := journal.Read(s.journal())
	if err != nil {
		return StateInterrupted, "", nil //nolint:nilerr // without a journal it is being started or removed
	}
	if !j.SinceBoot() {
		return StateRebooted, "", nil
	}
	if !r.Done {
		return StateInterrupted, "", nil
	}
	ns, err := netns.Find(r.Namespace, r.Cookie)
	if err != nil {
		return "", "", err
	}
	if ns == nil {
		return StateGone, "", nil
	}
	defer ns.Close()
	if r.Running.Poller != nil && !r.Running.Poller.Alive() {
		return StateDead, "", nil
	}
	if guard := r.Running.Guard; guard != nil && !guard.Alive() {
		r.Running.note("the watchdog of the kernel's threads exited: nines-poller has ended (process %d); stop and start polling", guard.PID)
	}
	if stale, err = r.Running.replaced(ns); err != nil || stale != "" {
		return StateStale, stale, err
	}
	return StateRunning, "", nil
}

// watch measures the rates.
func (s *Status) watch(ctx context.Context, over time.Duration) error {
	polls, err := CountPolls()
	if err != nil {
		s.Uncounted = err.Error()
	} else {
		defer func() { _ = polls.Close() }() // the kernel releases it when we end
	}
	before, err := s.Running.Threads()
	if err != nil {
		return err
	}
	begun := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(over):
	}
	after, err := s.Running.Threads()
	if err != nil {
		return err
	}
	s.Over = time.Since(begun)
	for _, now := range after {
		use := ThreadUse{Thread: now}
		for _, then := range before {
			if then.TID == now.TID {
				use.CPUUse = float64(now.CPUTime-then.CPUTime) / float64(s.Over)
				use.WaitedShare = float64(now.Waited-then.Waited) / float64(s.Over)
			}
		}
		s.Threads = append(s.Threads, use)
	}
	if polls == nil {
		return nil
	}
	counts, err := polls.Counts()
	if err != nil {
		return err
	}
	s.count(counts)
	return nil
}

// count groups the counts by poller.
func (s *Status) count(counts map[Poll]PollCount) {
	ours := map[uint32]bool{}
	for _, i := range s.Running.Interfaces {
		for _, instance := range i.NAPIs {
			ours[instance.ID] = true
		}
	}
	by := map[int]PollCount{}
	var all, softirqs PollCount
	for poll, count := range counts {
		if !ours[poll.NAPI] {
			continue
		}
		all = all.plus(count)
		if poll.Softirq() {
			softirqs = softirqs.plus(count)
		} else {
			by[poll.TID] = by[poll.TID].plus(count)
		}
	}
	rate := func(n uint64) *float64 { r := float64(n) / s.Over.Seconds(); return &r }
	for i := range s.Threads {
		count := by[s.Threads[i].TID]
		s.Threads[i].PollsPerSecond, s.Threads[i].PacketsPerSecond = rate(count.Polls), rate(count.Packets)
	}
	s.PollsPerSecond, s.PacketsPerSecond = rate(all.Polls), rate(all.Packets)
	if all.Packets > 0 {
		share := float64(softirqs.Packets) / float64(all.Packets)
		s.SoftirqShare = &share
	}
}
