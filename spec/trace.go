package spec

// Tracing sets up the recorder of what ran on the CPUs around slow packets.
type Tracing struct {
	// Packets is for how many of the slowest packets events are kept (default 200; at most the
	// traffic's outliers).
	Packets int `yaml:"packets,omitempty" json:"packets,omitempty"`
	// Ordinary is for how many packets picked at random events are kept too, to compare with
	// (default 200).
	Ordinary int `yaml:"ordinary,omitempty" json:"ordinary,omitempty"`
	// Buffer is the memory for each CPU's latest events (default 1MiB).
	Buffer Size `yaml:"buffer,omitempty" json:"buffer,omitempty"`
	// Stages also follows packets through the kernel: queueing discipline, driver,
	// NAPI, stack, socket, reader (default true).
	Stages *bool `yaml:"stages,omitempty" json:"stages,omitempty"`
}
