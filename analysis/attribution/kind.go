package attribution

// The kinds of causes. docs/explain.md says what each means, what shows it, and what
// helps.
const (
	// Priority is a thread of a real-time policy, or of a higher priority than ours;
	// Hog one of ours that competes fairly. Name is the thread's.
	Priority = "priority"
	Hog      = "hog"
	// KernelThread is a thread of the kernel, and Workqueue an item of a workqueue: Name
	// is its function's, and Source its worker.
	KernelThread = "kernel_thread"
	Workqueue    = "workqueue"
	// Softirq has its vector, Interrupt its device's action as the name.
	Softirq   = "softirq"
	Interrupt = "interrupt"
	// IPI and TLBShootdown are interrupts that another CPU sent: Source is who.
	IPI          = "ipi"
	TLBShootdown = "tlb_shootdown"
	// Tick is the scheduler's timer tick, Timer any other timer, with its function.
	Tick  = "tick"
	Timer = "timer"
	// IdleExit is the time from a wake-up to running on a CPU that was idle.
	IdleExit = "idle_exit"
	// Scheduler is waiting for a CPU of which nobody is known to have had it.
	Scheduler = "scheduler"
	// Throttled is waiting for a CPU that was idle: a quota, or real-time throttling.
	Throttled = "throttled"
	// Stopped is a thread that a signal or a debugger stopped.
	Stopped = "stopped"
	// Blocked is a thread that slept where it should have gone on; Name is its state.
	Blocked = "blocked"
	// RingFull is waiting in a queue that was full, Queue in one behind other packets,
	// and Forwarder in one of a forwarder that was busy. Name is where.
	RingFull  = "ring_full"
	Queue     = "queue"
	Forwarder = "forwarder"
	// Unexplained is time for which nothing was recorded.
	Unexplained = "unexplained"
)

// Kinds are all kinds.
func Kinds() []string {
	return []string{Priority, Hog, KernelThread, Workqueue, Softirq, Interrupt, IPI, TLBShootdown, Tick, Timer,
		IdleExit, Scheduler, Throttled, Stopped, Blocked, RingFull, Queue, Forwarder, Unexplained}
}
