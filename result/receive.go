package result

// Receive is how the kernel got packets from one interface during a trial, where that was
// not by interrupts alone. docs/busy-polling.md has the ways and mechanisms.
type Receive struct {
	Node      string `json:"node"`
	Interface string `json:"interface"`
	// RX is what the experiment asks for: "awake", "threaded", "busy_poll" or "suspend".
	RX string `json:"rx"`
	// Mechanism is what was in force: "netlink", "livepatch", "io_uring" or "epoll" for
	// busy_poll, "threaded", "spin" or "pm_qos" for awake, "suspend". It is empty where
	// nothing of it could be had, and Problem says why.
	Mechanism string `json:"mechanism,omitempty"`
	// Why is why this mechanism and no other.
	Why     string `json:"why,omitempty"`
	Problem string `json:"problem,omitempty"`
	// NAPIs are the instances of the interface, one a queue.
	NAPIs []int `json:"napis,omitempty"`
	// Threads are those that receive, or keep CPUs awake; several interfaces of a node may
	// share them.
	Threads []ReceiveThread `json:"threads,omitempty"`
	// Notes are what it costs, and what could not be had.
	Notes []string `json:"notes,omitempty"`
	// Settings are those of the interface that were changed for it, "gro": "on".
	Settings map[string]string `json:"settings,omitempty"`
}

// ReceiveThread is one thread that receives, and what it did in the trial's time, with
// warm-up and drain. What is nil the kernel does not tell of this mechanism.
type ReceiveThread struct {
	Name string `json:"name,omitempty"` // "napi/eth0-8193"
	TID  int    `json:"tid"`
	// CPUs are those that it may use.
	CPUs []int `json:"cpus"`
	// Scheduling is its policy, "idle" or "fifo 5"; empty: not known.
	Scheduling string `json:"scheduling,omitempty"`
	// Polls are how often it looked for packets, and PollsPerSecond as a rate; of threads of
	// the kernel that do not count only the rate, from a sample just before the trial.
	Polls          *uint64  `json:"polls,omitempty"`
	PollsPerSecond *float64 `json:"polls_per_second,omitempty"`
	// Packets are those that it brought.
	Packets *uint64 `json:"packets,omitempty"`
	// CPUUse is the share of one CPU that it had, 0 to 1, and WaitedNs how long it wanted
	// one that others had.
	CPUUse   float64 `json:"cpu_use"`
	WaitedNs int64   `json:"waited_ns"`
	// SleptNs is how long an adaptive thread slept, and BackOffs how often the watchdog
	// stopped it.
	SleptNs  int64  `json:"slept_ns,omitempty"`
	BackOffs uint64 `json:"back_offs,omitempty"`
}
