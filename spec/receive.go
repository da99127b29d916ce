package spec

// Receive is how the kernel gets packets from a device to the program that waits for them.
type Receive string

// The receive modes; docs/busy-polling.md says how each works.
const (
	// ReceiveInterrupt is the kernel's usual way: an interrupt raises a softirq.
	ReceiveInterrupt Receive = "interrupt"
	// ReceiveAwake keeps the node's CPUs from going idle, so that a waiting application
	// is woken at once.
	ReceiveAwake Receive = "awake"
	// ReceiveThreaded lets kernel threads, one for each queue, do the work of softirqs.
	ReceiveThreaded Receive = "threaded"
	// ReceiveBusyPoll has a thread poll the devices all the time, so that no receive softirq is
	// raised; the application keeps its sockets.
	ReceiveBusyPoll Receive = "busy_poll"
	// ReceiveSuspend is for applications that poll by epoll themselves: interrupts stay
	// off while they do.
	ReceiveSuspend Receive = "suspend"
)

// Polling sets up the threads that poll a node's devices, and the kernel threads of threaded ones.
type Polling struct {
	// Mechanism is what polls where rx is busy_poll (default auto: the best that the
	// kernel has, in the order netlink, livepatch, io_uring, epoll).
	Mechanism PollMechanism `yaml:"mechanism,omitempty" json:"mechanism,omitempty"`
	// CPUs is how many CPUs the polling threads have for themselves, besides the node's; with 0
	// they share the node's (default 0).
	CPUs int `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	// CPUList names them instead ("2-3,8"); it excludes CPUs.
	CPUList string `yaml:"cpu_list,omitempty" json:"cpu_list,omitempty"`
	// Scheduling is the policy of the polling threads (default: other on their own CPUs, idle on
	// shared ones).
	Scheduling *Scheduling `yaml:"scheduling,omitempty" json:"scheduling,omitempty"`
	// Adaptive lets them sleep while no packets come, longer each time up to Longest (default
	// false).
	Adaptive bool `yaml:"adaptive,omitempty" json:"adaptive,omitempty"`
	// Longest is the longest that an adaptive thread sleeps, and so what it may add to
	// the latency of the first packet after a pause (default 50us).
	Longest Duration `yaml:"longest,omitempty" json:"longest,omitempty"`
}

// PollMechanism is what polls a device in place of its softirq.
type PollMechanism string

// The mechanisms of busy polling.
const (
	PollAuto PollMechanism = "auto"
	// PollNetlink is the kernel's own threaded busy polling (Linux 6.19).
	PollNetlink PollMechanism = "netlink"
	// PollLivepatch is the module of busypoll/kmod/kbp, for kernels that take live patches.
	PollLivepatch PollMechanism = "livepatch"
	// PollIOUring polls by io_uring with static NAPI ids (Linux 6.13).
	PollIOUring PollMechanism = "io_uring"
	// PollEpoll is threaded NAPI that an epoll busy poller keeps awake (Linux 6.9).
	PollEpoll PollMechanism = "epoll"
)
