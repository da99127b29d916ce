package spec

// Cluster says where the nodes that are pods run, and how their pods are made.
type Cluster struct {
	// Kubeconfig is the file by which the cluster is reached (default: the one that KUBECONFIG
	// names, else that of nines cluster up, else ~/.kube/config).
	Kubeconfig string `yaml:"kubeconfig,omitempty" json:"kubeconfig,omitempty"`
	// Namespace is where the pods are made (default default).
	Namespace string `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	// Selector are labels that a node of the cluster must have to get one of the pods (default: any
	// node).
	Selector map[string]string `yaml:"selector,omitempty" json:"selector,omitempty"`
	// Scheduler is the scheduler that places the pods (default: the cluster's own).
	Scheduler string `yaml:"scheduler,omitempty" json:"scheduler,omitempty"`
	// Image has nines-engine and nines-init in its PATH (default: the image that nines cluster up
	// makes).
	Image string `yaml:"image,omitempty" json:"image,omitempty"`
	// Clock says whether pods on different nodes read one clock (default own).
	Clock Clock `yaml:"clock,omitempty" json:"clock,omitempty"`
	// ClockError is how wrong each node's CLOCK_REALTIME may be, where PTP's programs do not tell the kernels
	// (default: what the kernels were told).
	ClockError Duration `yaml:"clock_error,omitempty" json:"clock_error,omitempty"`
}

// Clock is what clocks the nodes of a cluster have.
type Clock string

// With ClockOwn each node has its own, so that only round trips can be measured. With ClockShared
// the whole cluster is on this machine, without virtual machines between. With ClockRealtime PTP or NTP
// keep the nodes' CLOCK_REALTIME in step, and one way is measured with the error that the kernels, or ClockError, tell.
const (
	ClockOwn      Clock = "own"
	ClockShared   Clock = "shared"
	ClockRealtime Clock = "realtime"
)

// OneWay reports whether the latency of one way between two nodes can be measured by it.
func (c Clock) OneWay() bool { return c == ClockShared || c == ClockRealtime }

// PodImage is the image of a pod where the file names none. The nodes of `nines cluster up` have it.
const PodImage = "nines.local/engine:1"

// PodInterface is a pod's interface on the cluster's own network, as all common network plugins name it.
const PodInterface = "eth0"

// defaultCluster is the cluster of a file that does not say which.
func defaultCluster() *Cluster {
	return &Cluster{Namespace: "default", Image: PodImage, Clock: ClockOwn}
}
