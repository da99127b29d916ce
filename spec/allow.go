package spec

// Allowance is a right that programs of a node have besides the ordinary ones.
type Allowance string

// The rights that a node can be allowed.
const (
	// AllowBPF lets programs load BPF programs and maps (CAP_BPF).
	AllowBPF Allowance = "bpf"
	// AllowPerf lets programs observe others, and with bpf trace the kernel (CAP_PERFMON).
	AllowPerf Allowance = "perf"
	// AllowIOUring lets programs use io_uring.
	AllowIOUring Allowance = "io_uring"
	// AllowDPDK is what DPDK needs for the node's links: locked memory and real-time policies; for
	// AF_XDP, and for devices without an IOMMU, far more.
	AllowDPDK Allowance = "dpdk"
)
