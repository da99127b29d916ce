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

// Site is where devices are received in other ways than by interrupts: a network
// namespace, and what is needed to change it and to put it back.
type Site struct {
	Journal *journal.Journal
	// Namespace has the devices. Its path has to stay the namespace's while it is polled:
	// what polls ends when it is not (Watch false where its maker ends it anyhow).
	Namespace *netns.Namespace
	Watch     bool
	// Program is nines-poller.
	Program string
	// Dir is a folder that is there, for the poller's statistics and log; Name begins their
	// names, and is unique in it.
	Dir, Name string
	// Groups are the cgroup.procs (or, for version 1, tasks) files that a poller joins
	// before anything else.
	Groups []string
	// Node is noted in the journal's steps.
	Node string
	// Features are what Probe found.
	Features Features
	// DryRun changes and starts nothing: what would be done is in Running.Steps.
	DryRun bool
}

// Request is what is wanted of a site.
type Request struct {
	// Receive is any way but interrupt.
	Receive spec.Receive
	// Interfaces are the devices; with none, all that are up and have something to poll.
	Interfaces []string
	// Mechanism is for busy_poll; auto or empty takes the best.
	Mechanism spec.PollMechanism
	// CPUs are where threads poll, or those that are kept awake.
	CPUs []int
	// Shared is true where others are to run on these CPUs as well, and come first: then
	// interrupts are not deferred, as packets would wait for a thread that cannot run.
	Shared bool
	// Scheduling is the threads' policy; nil is idle for what polls, and the kernel's
	// default for threaded NAPI.
	Scheduling *spec.Scheduling
	// Adaptive threads sleep when nothing comes, up to Longest (0: 50 µs).
	Adaptive bool
	Longest  time.Duration
}

// Running is what was set up.
type Running struct {
	Receive spec.Receive `json:"receive"`
	// Mechanism is what does it: one of spec's mechanisms for busy_poll, "threaded",
	// "spin" or "pm_qos" for awake, "suspend"; Why is why it and no other.
	Mechanism  string      `json:"mechanism"`
	Why        string      `json:"why"`
	Interfaces []Interface `json:"interfaces,omitempty"`
	CPUs       []int       `json:"cpus,omitempty"`
	Scheduling string      `json:"scheduling,omitempty"`
	// Poller is the process that polls or spins; nil where the kernel does it alone.
	Poller *Poller `json:"poller,omitempty"`
	// Guard watches the kernel's own threads that poll or receive with a real-time policy;
	// nil where there are none.
	Guard *Poller `json:"guard,omitempty"`
	// Notes are what a reader should know: what it costs, what could not be had.
	Notes []string `json:"notes,omitempty"`
	// Steps are what was done, or would be, in words.
	Steps []string `json:"steps,omitempty"`
}

// Interface is a device as it is received now.
type Interface struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	// NAPIs are its instances.
	NAPIs []napi.Instance `json:"napis"`
	// Changed are the settings that were changed, with their new values; those of the
	// other end of a veth pair begin with "peer ".
	Changed map[string]string `json:"changed,omitempty"`
}

// Poller is a nines-poller that was started.
type Poller struct {
	proc.Identity
	// Statistics is its file; ReadStatistics reads it. Log has what it said.
	Statistics string `json:"statistics"`
	Log        string `json:"log"`
}

// pollerJSON is how a Poller is written, in a session's record among others.
type pollerJSON struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Statistics string `json:"statistics"`
	Log        string `json:"log"`
	// Before is what records of earlier versions, which have "PID", call StartTicks.
	Before uint64 `json:"StartTicks,omitempty"`
}

// MarshalJSON names the process as all else is named.
func (p Poller) MarshalJSON() ([]byte, error) {
	return json.Marshal(pollerJSON{PID: p.PID, StartTicks: p.StartTicks, Statistics: p.Statistics, Log: p.Log})
}

// UnmarshalJSON also reads what earlier versions have written: a session may outlive them.
func (p *Poller) UnmarshalJSON(text []byte) error {
	var read pollerJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*p = Poller{Identity: proc.Identity{PID: read.PID, StartTicks: max(read.StartTicks, read.Before)}, Statistics: read.Statistics, Log: read.Log}
	return nil
}

// Start sets up a way of receiving. What was made before an error stays in the journal,
// whose undo puts it back; so it does after a crash. Stopping is undoing.
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
			_ = d.close() // only a file descriptor of a namespace
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
		err = fmt.Errorf("rx %q is nothing to set up", r.Receive)
	}
	return run, err
}

// schedulingText is a policy as nines-poller and package napi take it: "fifo:50".
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
