package busypoll

import (
	"context"
	"errors"
	"os"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
)

// State is how a session is.
type State string

// The states of a session.
const (
	StateRunning State = "running"
	// StateInterrupted was not set up to the end; stop undoes what there is of it.
	StateInterrupted State = "interrupted"
	// StateGone has lost its namespace, and with it all that it changed there.
	StateGone State = "gone"
	// StateDead has lost its poller, so that its packets wait for a timer; stop it.
	StateDead State = "dead"
	// StateStale has lost NAPI instances, for the reason in Stale, and its packets come by
	// interrupts again; stop and start it.
	StateStale State = "stale"
	// StateRebooted is of an earlier boot.
	StateRebooted State = "rebooted"
)

// Status is a session as it is now.
type Status struct {
	Record
	State State `json:"state"`
	// Stale is why it is StateStale.
	Stale string `json:"stale,omitempty"`
	// Over is the time that the rates were taken over.
	Over time.Duration `json:"over_ns"`
	// Threads are those that poll, receive or spin.
	Threads []ThreadUse `json:"threads,omitempty"`
	// PollsPerSecond is nil where polls could not be counted, for the reason in Uncounted.
	PollsPerSecond *float64 `json:"polls_per_second,omitempty"`
	// PacketsPerSecond are those that polls of any thread or softirq brought, and
	// SoftirqShare the part of them that softirqs did: 0 where polling is in force.
	PacketsPerSecond *float64 `json:"packets_per_second,omitempty"`
	SoftirqShare     *float64 `json:"softirq_share,omitempty"`
	Uncounted        string   `json:"uncounted,omitempty"`
}

// ThreadUse is what a thread did in the time of a Status.
type ThreadUse struct {
	Thread
	// CPUUse is the share of one CPU that it had, 0 to 1, WaitedShare the share of the
	// time that it wanted one in vain.
	CPUUse      float64 `json:"cpu_use"`
	WaitedShare float64 `json:"waited_share"`
	// PollsPerSecond and PacketsPerSecond are nil where polls could not be counted.
	PollsPerSecond   *float64 `json:"polls_per_second,omitempty"`
	PacketsPerSecond *float64 `json:"packets_per_second,omitempty"`
}

// HeldUp is true for a thread of a real-time policy that was kept from its CPU for longer
// than interrupts and a thread of the kernel's now and then explain. Whether it had to give
// way to others of a higher priority or was throttled (kernel.sched_rt_runtime_us, 5 % of
// each second by default, or Linux 6.12's fair server) the kernel does not tell.
func (t ThreadUse) HeldUp() bool {
	placement, err := napi.ParsePlacement(t.Placement)
	return err == nil && placement.RealTime() && t.WaitedShare > 0.02
}

// Status says how the session is, by watching it for a while.
func (s Session) Status(ctx context.Context, watch time.Duration) (*Status, error) {
	record, err := s.Record()
	if errors.Is(err, ErrNoSession) {
		if _, there := os.Stat(s.dir()); there == nil { // cut off before there was a record
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

func (s Session) state(r *Record) (state State, stale string, err error) {
	j, err := journal.Read(s.journal())
	if err != nil {
		return StateInterrupted, "", nil //nolint:nilerr // without a journal it is being made, or unmade
	}
	if j.Header.BootID != boot.ID() {
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

// watch takes the rates.
func (s *Status) watch(ctx context.Context, over time.Duration) error {
	polls, err := CountPolls()
	if err != nil {
		s.Uncounted = err.Error()
	} else {
		defer func() { _ = polls.Close() }() // the kernel forgets it with us
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

// count sorts what was counted by who polled.
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
