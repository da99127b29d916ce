package result

// Receive is how the kernel received packets from one interface during a trial, if not only by
// interrupts. docs/busy-polling.md has the ways and mechanisms.
type Receive struct {
	Node      string `json:"node"`
	Interface string `json:"interface"`
	// RX is what the experiment asks for: "awake", "threaded", "busy_poll" or "suspend".
	RX string `json:"rx"`
	// Mechanism is the mechanism in effect: "netlink", "livepatch", "io_uring" or "epoll" for
	// busy_poll, "threaded", "spin" or "pm_qos" for awake, "suspend". It is empty if none was
	// available, and Problem says why.
	Mechanism string `json:"mechanism,omitempty"`
	// Why is the reason for this mechanism.
	Why     string `json:"why,omitempty"`
	Problem string `json:"problem,omitempty"`
	// NAPIs are the NAPI instances of the interface, one per queue.
	NAPIs []int `json:"napis,omitempty"`
	// Threads are those that receive, or keep CPUs awake; interfaces of a node may share them.
	Threads []ReceiveThread `json:"threads,omitempty"`
	// Notes are its costs, and what was not available.
	Notes []string `json:"notes,omitempty"`
	// Settings are interface settings that were changed for it, "gro": "on".
	Settings map[string]string `json:"settings,omitempty"`
}

// ReceiveThread is one receiving thread, and what it did during the trial, with warm-up and drain.
// The kernel does not report nil values for this mechanism.
type ReceiveThread struct {
	Name string `json:"name,omitempty"` // "napi/eth0-8193"
	TID  int    `json:"tid"`
	// CPUs are those that it may use.
	CPUs []int `json:"cpus"`
	// Scheduling is its policy, "idle" or "fifo 5"; empty: unknown.
	Scheduling string `json:"scheduling,omitempty"`
	// Polls is how often it looked for packets, and PollsPerSecond the rate. Kernel threads that do
	// not count have only the rate, from a sample just before the trial.
	Polls          *uint64  `json:"polls,omitempty"`
	PollsPerSecond *float64 `json:"polls_per_second,omitempty"`
	// Packets is the number of packets it received.
	Packets *uint64 `json:"packets,omitempty"`
	// CPUUse is its share of one CPU, 0 to 1, and WaitedNs how long it waited for a CPU that others
	// had.
	CPUUse   float64 `json:"cpu_use"`
	WaitedNs int64   `json:"waited_ns"`
	// SleptNs is how long an adaptive thread slept, and BackOffs how often the watchdog stopped it.
	SleptNs  int64  `json:"slept_ns,omitempty"`
	BackOffs uint64 `json:"back_offs,omitempty"`
}
