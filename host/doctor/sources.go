package doctor

// The sources that several findings share.
const (
	// thesis is A. Daichendt, 2022.
	thesis = "'Lightweight low-latency virtual networking' (2022)"
	// osnoise is what an interruption takes, according to the kernel's documentation:
	// 1.8 and 2.8 µs for a timer interrupt, and 8.8 µs with the thread that it wakes.
	osnoise          = "the example in Documentation/trace/osnoise-tracer.rst"
	perCPUThreads    = "Documentation/admin-guide/kernel-per-CPU-kthreads.rst"
	kernelParameters = "Documentation/admin-guide/kernel-parameters.txt"
	tunedNetwork     = "tuned's profile network-latency"
	tunedPartition   = "tuned's profile cpu-partitioning"
)

// The figures behind the costs, in µs.
const (
	// interruptUS to threadUS is what one interruption takes (osnoise).
	interruptUS, threadUS = 1.8, 8.8
	// packetUS is the kernel's work for one packet: 227,000 a second by UDP over veth
	// and a bridge ('On the use of kernel bypass mechanisms for high-performance
	// inter-container communications', Linux 4.15).
	packetUS = 4.4
	// sliceUS is how long another thread, or another machine's virtual CPU, runs before
	// the scheduler switches to ours: 0.7 ms times 1 + log2 of the number of CPUs,
	// counting at most 8 (kernel/sched/fair.c: sysctl_sched_base_slice since 6.6, 0.75
	// ms before).
	sliceUS = 2800
	// softirqUS is how long softirqs run before ksoftirqd takes over (kernel/softirq.c,
	// MAX_SOFTIRQ_TIME).
	softirqUS = 2000
	// numaUS is what crossing from one NUMA node to another takes (Emmerich et al.,
	// cited in the thesis, 4.3 and 6.2.1).
	numaUS = 1.7
)

const (
	softirqSource = "softirqs continue for 2 ms, kernel/softirq.c"
	packetSource  = "4.4 µs a packet by UDP over veth and bridge: 227,000 a second in Ara et al., 'On the use of kernel bypass mechanisms …'"
	sliceSource   = "the scheduler's slice on 8 CPUs and more, kernel/sched/fair.c"
	numaSource    = "Emmerich et al. in " + thesis + ", 4.3 and 6.2.1"
)
