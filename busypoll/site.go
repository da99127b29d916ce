package busypoll

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
)

// Site is where the receive mode is changed: a network namespace, and what is needed to
// change and restore it.
type Site struct {
	Journal *journal.Journal
	// Namespace has the devices. While it is polled its path must lead to it: otherwise
	// the poller ends. Watch also ends what needs no device: a guard, or what keeps CPUs awake. It is
	// false if the namespace's maker ends those.
	Namespace *netns.Namespace
	Watch     bool
	// Program is the path of nines-poller.
	Program string
	// Dir is an existing folder for the poller's statistics and log. Name is the prefix
	// of their names, and unique in it.
	Dir, Name string
	// Groups are the cgroup.procs (or, for version 1, tasks) files of groups that a
	// poller joins before anything else.
	Groups []string
	// Node is the node in the journal's steps.
	Node string
	// Features are the result of Probe.
	Features Features
	// DryRun changes and starts nothing; Running.Steps lists what would be done.
	DryRun bool
}

// Request is what is asked of a site.
type Request struct {
	// Receive is any receive mode but interrupt.
	Receive spec.Receive
	// Interfaces are the devices; empty for all that are up and can be polled.
	Interfaces []string
	// Mechanism is for busy_poll; auto or empty selects the best.
	Mechanism spec.PollMechanism
	// CPUs are those on which threads poll, or which are kept awake.
	CPUs []int
	// Shared is true if other threads run on these CPUs too, and have priority.
	// Interrupts are then not deferred, because packets would wait for a thread that
	// cannot run.
	Shared bool
	// Scheduling is the threads' policy; nil is idle for polling threads, and the
	// kernel's default for threaded NAPI.
	Scheduling *spec.Scheduling
	// Adaptive threads sleep without packets, up to Longest (0: 50 µs).
	Adaptive bool
	Longest  time.Duration
}

// Running is what was set up.
type Running struct {
	Receive spec.Receive `json:"receive"`
	// Mechanism is how it is done: one of spec's mechanisms for busy_poll, "threaded",
	// "spin" or "pm_qos" for awake, "suspend". Why is the reason for the choice.
	Mechanism  string      `json:"mechanism"`
	Why        string      `json:"why"`
	Interfaces []Interface `json:"interfaces,omitempty"`
	CPUs       []int       `json:"cpus,omitempty"`
	Scheduling string      `json:"scheduling,omitempty"`
	// Poller is the process that polls or spins; nil if the kernel does it alone.
	Poller *Poller `json:"poller,omitempty"`
	// Guard watches the kernel's own threads that poll or receive with a real-time
	// policy; nil if there are none.
	Guard *Poller `json:"guard,omitempty"`
	// Notes are for the user: costs, and what was not possible.
	Notes []string `json:"notes,omitempty"`
	// Steps are what was done, or would be, as text.
	Steps []string `json:"steps,omitempty"`
}

// Interface is a device in its new receive mode.
type Interface struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	// NAPIs are its instances.
	NAPIs []napi.Instance `json:"napis"`
	// Changed are the settings that were changed, with their new values; those of a
	// veth's other end have the prefix "peer ".
	Changed map[string]string `json:"changed,omitempty"`
}

// Poller is a nines-poller that was started.
type Poller struct {
	proc.Identity
	// Statistics is its file; ReadStatistics reads it. Log has its output.
	Statistics string `json:"statistics"`
	Log        string `json:"log"`
}

// pollerJSON is a Poller in JSON, for example in a session's record.
type pollerJSON struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Statistics string `json:"statistics"`
	Log        string `json:"log"`
	// Before is StartTicks in records of earlier versions, which also have "PID".
	Before uint64 `json:"StartTicks,omitempty"`
}

// MarshalJSON uses the project's style of names for the process.
func (p Poller) MarshalJSON() ([]byte, error) {
	return json.Marshal(pollerJSON{PID: p.PID, StartTicks: p.StartTicks, Statistics: p.Statistics, Log: p.Log})
}

// UnmarshalJSON also reads records of earlier versions, since a session may outlive an
// upgrade.
func (p *Poller) UnmarshalJSON(text []byte) error {
	var read pollerJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*p = Poller{Identity: proc.Identity{PID: read.PID, StartTicks: max(read.StartTicks, read.Before)}, Statistics: read.Statistics, Log: read.Log}
	return nil
}

// Start sets up a receive mode. What was made before an error or a crash stays in the
// journal, and its undo restores it. To stop is to undo.
func (s Site) Start(ctx context.Context, r Request) (*Running, error) {
	run := &Running{Receive: r.Receive, CPUs: r.CPUs}
	if r.Scheduling != nil {
		run.Scheduling = schedulingText(r.Scheduling)
	}
	if r.Receive == spec.ReceiveAwake {
		return run, s.keepAwake(ctx, r, run)
	}
	devices, err := devicesOf(s.Namespace, r.Interfaces)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, d := range devices {
			_ = d.close() // this closes only a namespace's file descriptor
		}
	}()
	for _, d := range devices {
		run.Interfaces = append(run.Interfaces, Interface{Name: d.name, Index: d.index, Changed: map[string]string{}})
	}
	switch r.Receive {
	case spec.ReceiveThreaded:
		err = s.threaded(ctx, r, run, devices)
	case spec.ReceiveBusyPoll:
		err = s.busyPoll(ctx, r, run, devices)
	case spec.ReceiveSuspend:
		err = s.suspend(run, devices)
	default:
		err = fmt.Errorf("rx %q needs no setup", r.Receive)
	}
	return run, err
}

// schedulingText is a policy in the form of nines-poller and package napi: "fifo:50".
func schedulingText(s *spec.Scheduling) string {
	value := s.Nice
	if s.Policy.RealTime() {
		value = s.Priority
	}
	policy := s.Policy
	if policy == "" {
		policy = spec.SchedulingOther
	}
	return fmt.Sprintf("%s:%d", policy, value)
}
