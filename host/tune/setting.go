package tune

// Scope is how much of a host a setting changes.
type Scope string

// The scopes.
const (
	// ScopeHost settings change the whole host, whoever uses it.
	ScopeHost Scope = "host"
	// ScopeCPU settings change one CPU.
	ScopeCPU Scope = "cpu"
	// ScopeDevice settings change one device, one of its queues or its interrupt.
	ScopeDevice Scope = "device"
)

// Method is how a setting is made.
type Method string

// The methods.
const (
	// Write writes Value to the file Path.
	Write Method = "write"
	// Hold writes Value, as a 32-bit number of the machine's byte order, to the file
	// Path and keeps it open: the setting is in force until it is closed. So
	// /dev/cpu_dma_latency works (Documentation/power/pm_qos_interface.rst).
	Hold Method = "hold"
)

// Setting is one value of one file of the host, and why it should be that.
type Setting struct {
	Advice
	// Scope, and the CPU or device that is meant.
	Scope  Scope  `json:"scope"`
	CPU    int    `json:"cpu,omitempty"`    // of ScopeCPU only
	Device string `json:"device,omitempty"` // of ScopeDevice only: "eth0", "irq 34"
	Method Method `json:"method"`
	// Path is the file, and Value what it is to hold, as the kernel prints it.
	Path  string `json:"path"`
	Value string `json:"value"`
	// Absent says why the host does not have this setting; empty if it has, as far as
	// the inventory tells.
	Absent string `json:"absent,omitempty"`
}

// Advice is what is known of a kind of setting.
type Advice struct {
	// Name is the kind's: that of a sysctl, or a short one such as "irq-affinity".
	Name string `json:"name"`
	// What says what the setting does, and why that is wanted.
	What string `json:"what"`
	// Cost says what is lost by it.
	Cost string `json:"cost"`
	// Since is the kernel that has it first, such as "6.12"; empty if every kernel that
	// nines runs on (5.10 and later) has it.
	Since string `json:"since,omitempty"`
	// Source is where the advice comes from: a kernel document or file, a tuned
	// profile, the thesis.
	Source string `json:"source"`
}
