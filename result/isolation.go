package result

// Isolation is what kept everything else off the nodes' CPUs in a trial, as found in effect when
// the network came up.
type Isolation struct {
	// Degree is none, affinity, partition or isolated.
	Degree string `json:"degree"`
	// CPUs had only the nodes on them; HostCPUs had everything else.
	CPUs     []int `json:"cpus,omitempty"`
	HostCPUs []int `json:"host_cpus,omitempty"`
	// Mechanism is how the kernel kept others off; Groups are its partitions.
	Mechanism string           `json:"mechanism,omitempty"`
	Groups    []IsolationGroup `json:"groups,omitempty"`
	// Interrupts, KernelThreads and Tasks were moved away; Settings are other changes.
	Interrupts    int `json:"interrupts,omitempty"`
	KernelThreads int `json:"kernel_threads,omitempty"`
	Tasks         int `json:"tasks,omitempty"`
	Settings      int `json:"settings,omitempty"`
	// Notes say what could not be moved away.
	Notes []string `json:"notes,omitempty"`
}

// IsolationGroup is a control group with its own CPUs.
type IsolationGroup struct {
	Path string `json:"path"`
	// Partition is the kernel's partition type of the group, such as isolated.
	Partition string `json:"partition"`
	CPUs      string `json:"cpus"`
}
