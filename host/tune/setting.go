package tune

// Scope says how much of a host a setting changes.
type Scope string

// The scopes.
const (
	// ScopeHost settings change the whole host.
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
	// Hold writes Value to the file Path, as a 32-bit number in native byte order, and
	// keeps it open: the setting is in force until the file is closed.
	// /dev/cpu_dma_latency works like that (Documentation/power/pm_qos_interface.rst).
	Hold Method = "hold"
)

// Setting is one value for one file of the host, and its reason.
type Setting struct {
	Advice
	// Scope, and the CPU or device that it applies to.
	Scope  Scope  `json:"scope"`
	CPU    int    `json:"cpu,omitempty"`    // for ScopeCPU only
	Device string `json:"device,omitempty"` // for ScopeDevice only: "eth0", "irq 34"
	Method Method `json:"method"`
	// Path is the file, and Value its wanted content, as the kernel prints it.
	Path  string `json:"path"`
	Value string `json:"value"`
	// Absent says why the host does not have this setting; empty if it has, as far as
	// the inventory shows.
	Absent string `json:"absent,omitempty"`
}

// Advice is what is known about a kind of setting.
type Advice struct {
	// Name is the kind's name: a sysctl's, or a short one such as "irq-affinity".
	Name string `json:"name"`
	// What says what the setting does, and why that helps.
	What string `json:"what"`
	// Cost says what is lost by it.
	Cost string `json:"cost"`
	// Since is the first kernel that has it, such as "6.12"; empty if every kernel that
	// nines supports (5.10 and later) has it.
	Since string `json:"since,omitempty"`
	// Source is where the advice comes from: a kernel document or file, a tuned
	// profile, the thesis.
	Source string `json:"source"`
}
