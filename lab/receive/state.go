package receive

import (
	"errors"
	"time"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/spec"
)

// State is the state of an interface with a receive mode other than interrupt.
type State struct {
	Node      string       `json:"node"`
	Interface string       `json:"interface"`
	RX        spec.Receive `json:"rx"`
	// Guest is true for an interface in a virtual machine: the threads, their CPUs and the instances are those of its own
	// kernel.
	Guest bool `json:"guest,omitempty"`
	// Mechanism is the mechanism in force, and Why says why this one.
	Mechanism string `json:"mechanism"`
	Why       string `json:"why,omitempty"`
	// NAPIs are the interface's NAPI instances, one per queue.
	NAPIs []uint32 `json:"napis,omitempty"`
	// Settings are what was set on devices for it, by the names of package napi.
	Settings map[string]string `json:"settings,omitempty"`
	// Threads are the threads that receive, or that keep CPUs awake.
	Threads []Thread `json:"threads,omitempty"`
	// Problem says why there are no threads where there should be some.
	Problem string `json:"problem,omitempty"`
	// Notes say what it costs.
	Notes []string `json:"notes,omitempty"`
}

// Thread is a thread that receives, with what it has done since it was started.
type Thread struct {
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

// Record is what is saved about an interface when its receive mode is set up.
type Record struct {
	State
	// Index is the device's index in its namespace.
	Index int `json:"index"`
	// Scheduling is the policy of its threads, "idle:0".
	Scheduling string `json:"scheduling,omitempty"`
	// Poller is the process that polls or spins; none where the kernel does it alone.
	Poller busypoll.Poller `json:"poller,omitzero"`
	// Guard is the process that watches the kernel's threads; none where they need none.
	Guard busypoll.Poller `json:"guard,omitzero"`
}

// Records reads the saved records; none for a lab that uses only interrupts.
func Records(l *running.Lab) ([]Record, error) {
	return replace.ReadIfThere[[]Record](l.State().Receive())
}

// States returns the current state of each interface with a receive mode other than interrupt.
func States(l *running.Lab) ([]State, error) {
	records, err := Records(l)
	if err != nil {
		return nil, err
	}
	list := []State{}
	var inside []Record
	for _, r := range records {
		if r.Guest {
			inside = append(inside, r)
			continue
		}
		r.readNow(func() (*netns.Namespace, error) { return namespaceOf(l, r.Node) })
		list = append(list, r.State)
	}
	return append(list, guestStates(l, inside)...), nil
}

// errDead says that a node is dead.
var errDead = errors.New("the node is dead")

func namespaceOf(l *running.Lab, nodeName string) (*netns.Namespace, error) {
	if of := l.Running(nodeName); of != nil && of.Alive() {
		return of.Namespace()
	}
	return nil, errDead
}

// readNow reads what receives at an interface now, in the namespace that open returns.
func (r *Record) readNow(open func() (*netns.Namespace, error)) {
	if r.Poller.PID > 0 {
		r.readPoller()
	} else if r.RX.Polls() {
		r.readKernelThreads(open)
		r.readGuard()
	}
	r.findReplaced(open)
}
