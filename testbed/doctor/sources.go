package doctor

// The sources that several findings share.
const (
	// thesis is A. Daichendt, 2022.
	thesis = "'Lightweight low-latency virtual networking' (2022)"
	// osnoise is what an interruption takes by the kernel's own documentation: a timer's
	// interrupt 1.8 and 2.8 µs, and 8.8 µs with the thread that it wakes.
	osnoise          = "Documentation/trace/osnoise-tracer.rst: in its example a timer's interrupt takes 1.8 and 2.8 µs, and 8.8 µs with the thread that it wakes"
	perCPUThreads    = "Documentation/admin-guide/kernel-per-CPU-kthreads.rst"
	kernelParameters = "Documentation/admin-guide/kernel-parameters.txt"
	tunedNetwork     = "tuned's profile network-latency"
	tunedPartition   = "tuned's profile cpu-partitioning"
)

// The figures behind the costs, in µs.
const (
	// interruptUS to threadUS is what one interruption takes (osnoise).
	interruptUS, threadUS = 1.8, 8.8
	// packetUS is the work of one packet through the kernel: 227,000 a second by UDP over
	// veth and a bridge ('On the use of kernel bypass mechanisms for high-performance
	// inter-container communications', Linux 4.15).
	packetUS = 4.4
	// sliceUS is how long another thread, or another machine's CPU, runs before the
	// scheduler lets ours: 0.7 ms times 1 + log2 of the CPUs, of which at most 8 count
	// (kernel/sched/fair.c: sysctl_sched_base_slice since 6.6, 0.75 ms before).
	sliceUS = 2800
	// softirqUS is how long softirqs go on before they are left to a thread
	// (kernel/softirq.c, MAX_SOFTIRQ_TIME).
	softirqUS = 2000
	// numaUS is what crossing from one NUMA node to another takes (Emmerich et al., as
	// the thesis cites it in 4.3 and 6.2.1).
	numaUS = 1.7
)

const (
	softirqSource = "kernel/softirq.c: softirqs go on for 2 ms (MAX_SOFTIRQ_TIME) before they are left to a thread"
	packetSource  = "227,000 packets a second by UDP over veth and bridge, so 4.4 µs each, in 'On the use of kernel bypass mechanisms for high-performance inter-container communications'"
	sliceSource   = "kernel/sched/fair.c: a slice is 0.7 ms × (1 + log2 of the CPUs, at most 8) since 6.6, and 0.75 ms × that before"
	numaSource    = "Emmerich et al. in " + thesis + ", 4.3 and 6.2.1"
)
