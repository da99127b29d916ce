package spec

// Experiment is one experiment file after its sweep has been resolved: every
// value is a single value, and every default is filled in.
type Experiment struct {
	// Name is the name of the lab and of its result folder.
	Name string `yaml:"name" json:"name"`
	// Prefix begins every name made on the host. Empty: derived from Name.
	Prefix   string   `yaml:"prefix,omitempty" json:"prefix,omitempty"`
	Topology Topology `yaml:"topology" json:"topology"`
	// Traffic is nil for a lab that is only brought up, not measured.
	Traffic *Traffic `yaml:"traffic,omitempty" json:"traffic,omitempty"`
	// Repeat is how often each combination of the sweep is run (default 1).
	Repeat int `yaml:"repeat,omitempty" json:"repeat,omitempty"`
	// Order is the order of the repeats (default interleaved).
	Order Order `yaml:"order,omitempty" json:"order,omitempty"`
}

// Order says how the repeats of a sweep follow one another.
type Order string

// Interleaved runs A B C A B C, so that a drifting host hits all alike;
// sequential runs A A B B C C.
const (
	OrderInterleaved Order = "interleaved"
	OrderSequential  Order = "sequential"
)

// Topology is the network: nodes by name, and the links between them.
type Topology struct {
	Nodes map[string]*Node `yaml:"nodes" json:"nodes"`
	Links []*Link          `yaml:"links,omitempty" json:"links,omitempty"`
}
