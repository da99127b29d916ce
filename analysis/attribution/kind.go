package attribution

// The kinds of causes. docs/explain.md says what each means, what shows it, and what
// helps.
const (
	// Priority is a thread with a real-time policy or a higher priority than ours; Hog is one that
	// competes fairly with ours. Name is the thread's.
	Priority = "priority"
	Hog      = "hog"
	// KernelThread is a kernel thread, and Workqueue a workqueue item: Name is the item's function,
	// and Source its worker.
	KernelThread = "kernel_thread"
	Workqueue    = "workqueue"
	// Softirq has its vector as the name, Interrupt the action of its device.
	Softirq   = "softirq"
	Interrupt = "interrupt"
	// IPI and TLBShootdown are interrupts from another CPU; Source is the sender.
	IPI          = "ipi"
	TLBShootdown = "tlb_shootdown"
	// Tick is the scheduler's timer tick; Timer is any other timer, named by its function.
	Tick  = "tick"
	Timer = "timer"
	// IdleExit is the time from a thread's wake-up until it runs on a CPU that was idle.
	IdleExit = "idle_exit"
	// Scheduler is waiting for a CPU where no running thread is known.
	Scheduler = "scheduler"
	// Throttled is waiting for a CPU that was idle: a quota, or real-time throttling.
	Throttled = "throttled"
	// Stopped is a thread that a signal or a debugger stopped.
	Stopped = "stopped"
	// Blocked is a thread that slept when it should have run; Name is its state.
	Blocked = "blocked"
	// RingFull is waiting in a full queue, Queue behind other packets, and Forwarder in the queue
	// of a busy forwarder. Name is the place.
	RingFull  = "ring_full"
	Queue     = "queue"
	Forwarder = "forwarder"
	// Impaired is waiting in a link that holds packets deliberately: Name is the link, Source what it does.
	Impaired = "impaired"
	// Unexplained is time for which nothing was recorded.
	Unexplained = "unexplained"
)

// Kinds returns all kinds.
func Kinds() []string {
	return []string{Priority, Hog, KernelThread, Workqueue, Softirq, Interrupt, IPI, TLBShootdown, Tick, Timer,
		IdleExit, Scheduler, Throttled, Stopped, Blocked, RingFull, Queue, Forwarder, Impaired, Unexplained}
}
