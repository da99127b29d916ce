package spec

// Disturbance is deliberate competition while the lab is up, made by nines-disturb: for Length in
// each Period.
type Disturbance struct {
	// Kind is the kind of disturbance.
	Kind DisturbanceKind `yaml:"kind" json:"kind"`
	// Node is the node whose CPU is disturbed: its engine's CPU, else its first; with kind stop,
	// the node's engine itself.
	Node string `yaml:"node,omitempty" json:"node,omitempty"`
	// CPU is the CPU that is disturbed; it excludes Node. Without either, the kernel chooses the
	// CPU.
	CPU *int `yaml:"cpu,omitempty" json:"cpu,omitempty"`
	// Period is the time from one start to the next (default 10ms).
	Period Duration `yaml:"period,omitempty" json:"period,omitempty"`
	// Length is how long each lasts (default 200us).
	Length Duration `yaml:"length,omitempty" json:"length,omitempty"`
	// Pattern is how the starts are spaced (default constant).
	Pattern DisturbancePattern `yaml:"pattern,omitempty" json:"pattern,omitempty"`
	// Scheduling is the policy of the disturbing thread (default other).
	Scheduling *Scheduling `yaml:"scheduling,omitempty" json:"scheduling,omitempty"`
}

// DisturbancePattern spaces the starts of a disturbance.
type DisturbancePattern string

// The patterns of a disturbance; in those but constant, Period is an average.
const (
	// DisturbConstant spaces starts evenly.
	DisturbConstant DisturbancePattern = "constant"
	// DisturbPoisson spaces starts exponentially.
	DisturbPoisson DisturbancePattern = "poisson"
	// DisturbBursts has some starts close together, then none for long.
	DisturbBursts DisturbancePattern = "bursts"
)
