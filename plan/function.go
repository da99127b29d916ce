package plan

import "nines.dev/nines/spec"

// Function is the PCI function that an endpoint of a link of kind sriov or passthrough is. It is
// comparable.
type Function struct {
	Address string `json:"address"`
	// Name is the host's interface of a whole device, or of a virtual function's port, if there is
	// one.
	Name string `json:"name,omitempty"`
	// Port is the physical function of virtual function Index; empty for a whole device.
	Port  string `json:"port,omitempty"`
	Index int    `json:"index,omitempty"`
	// VLAN, Trust, SpoofCheck and RateMbit (0: no limit) are set through the port.
	VLAN       int  `json:"vlan,omitempty"`
	Trust      bool `json:"trust,omitempty"`
	SpoofCheck bool `json:"spoof_check,omitempty"`
	RateMbit   int  `json:"rate_mbit,omitempty"`
	// Driver leaves the function to a program: the node's engine, or its virtual machine. Empty is
	// the kernel's own driver, whose interface is moved into the node.
	Driver   spec.ProgramDriver `json:"driver,omitempty"`
	NUMANode int                `json:"numa_node"` // -1: the host does not say
}

// Whole reports whether it is a whole device.
func (f Function) Whole() bool { return f.Port == "" }

// PhysicalFunction is a port of a card whose virtual functions the lab uses.
type PhysicalFunction struct {
	Address string `json:"address"`
	Name    string `json:"name"`
	// VFs is how many it will get, where it has none yet.
	VFs int `json:"vfs"`
}

// Cabled reports whether a link of kind sriov leads from one port to another.
func (l Link) Cabled() bool {
	return l.Kind.Descriptor().End == spec.EndFunction && len(l.Endpoints) == 2 && l.Endpoints[0].Function.Port != l.Endpoints[1].Function.Port
}
