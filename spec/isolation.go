package spec

// Isolation is how far other work is kept off the nodes' CPUs.
type Isolation string

// The degrees of isolation; each includes the one before.
const (
	// IsolationNone pins nothing: nodes and engines run where the scheduler puts them, like
	// everything else on the host.
	IsolationNone Isolation = "none"
	// IsolationAffinity keeps nodes on their CPUs; other processes may run there too.
	IsolationAffinity Isolation = "affinity"
	// IsolationPartition also keeps other processes off them: a partition of cgroup v2, or
	// exclusive cpusets of v1.
	IsolationPartition Isolation = "partition"
	// IsolationIsolated also removes them from load balancing, and moves interrupts, kernel threads
	// and workqueues away.
	IsolationIsolated Isolation = "isolated"
)

// Tuning is a profile of host settings, as in nines tune.
type Tuning string

// The profiles of host settings.
const (
	TuningNone       Tuning = "none"
	TuningLatency    Tuning = "latency"
	TuningRealtime   Tuning = "realtime"
	TuningThroughput Tuning = "throughput"
)

// Scheduling is how the kernel schedules what nines starts in a node.
type Scheduling struct {
	// Policy is other, batch, idle, fifo or rr (default other), sched(7).
	Policy SchedulingPolicy `yaml:"policy,omitempty" json:"policy,omitempty"`
	// Priority is the priority for fifo and rr, 1 to 99.
	Priority int `yaml:"priority,omitempty" json:"priority,omitempty"`
	// Nice is the nice value for other and batch, -20 to 19 (default 0).
	Nice int `yaml:"nice,omitempty" json:"nice,omitempty"`
}

// SchedulingPolicy is a policy of sched(7).
type SchedulingPolicy string

// The scheduling policies.
const (
	SchedulingOther SchedulingPolicy = "other"
	SchedulingBatch SchedulingPolicy = "batch"
	SchedulingIdle  SchedulingPolicy = "idle"
	SchedulingFIFO  SchedulingPolicy = "fifo"
	SchedulingRR    SchedulingPolicy = "rr"
)
