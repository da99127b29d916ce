package pci

import "fmt"

// Function is a physical PCI function of a network card, with its current virtual functions
// (VFs).
type Function struct {
	Address string `json:"address"`
	// Driver is empty if no driver is bound.
	Driver string `json:"driver,omitempty"`
	// Interface is the kernel's, in the network namespace of the reading process.
	Interface string `json:"interface,omitempty"`
	MAC       string `json:"mac,omitempty"`
	State     string `json:"state,omitempty"` // operstate
	// Carrier says whether the link partner is up: yes, no, or empty while the
	// interface is down.
	Carrier   string `json:"carrier,omitempty"`
	SpeedMbit int    `json:"speed_mbit,omitempty"`
	MTU       int    `json:"mtu,omitempty"`
	NUMANode  int    `json:"numa_node"` // -1: unknown
	// IOMMUGroup is -1 without one. Companions are the other devices in it, with their
	// drivers: a program gets all of a group or nothing (vfio.rst).
	IOMMUGroup int      `json:"iommu_group"`
	Companions []string `json:"companions,omitempty"`
	// UsedBy says in words who uses it; empty if no user is known.
	UsedBy string `json:"used_by,omitempty"`
	// Uplink is true if the host's own traffic uses it.
	Uplink bool `json:"uplink,omitempty"`
	// VLANs are the IDs of the host's VLAN devices on it.
	VLANs []int `json:"vlans,omitempty"`
	// TotalVFs is 0 without SR-IOV; NumVFs is how many exist now.
	TotalVFs int `json:"total_vfs,omitempty"`
	NumVFs   int `json:"num_vfs,omitempty"`
	// VFOffset and VFStride give the address of the VF i: the function's own number
	// and VFOffset + i × VFStride (PCI Express Base 3.3.9 and 3.3.10).
	VFOffset int               `json:"vf_offset,omitempty"`
	VFStride int               `json:"vf_stride,omitempty"`
	VFs      []VirtualFunction `json:"vfs,omitempty"` // by index
}

// VirtualFunction is an existing VF.
type VirtualFunction struct {
	Index     int    `json:"index"`
	Address   string `json:"address"`
	Driver    string `json:"driver,omitempty"`
	Interface string `json:"interface,omitempty"`
	// MAC and VLAN are what the physical function reports for it.
	MAC        string `json:"mac,omitempty"`
	VLAN       int    `json:"vlan,omitempty"`
	IOMMUGroup int    `json:"iommu_group"`
	// UsedBy says in words who uses it; empty if no user is known. Lab is the lab of
	// nines that has it.
	UsedBy string `json:"used_by,omitempty"`
	Lab    string `json:"lab,omitempty"`
}

// VFSettings is what a physical function holds for one of its VFs, as ip link shows it.
type VFSettings struct {
	Index      int    `json:"index"`
	MAC        string `json:"mac"`
	VLAN       int    `json:"vlan"`
	QoS        int    `json:"qos"`
	SpoofCheck bool   `json:"spoof_check"`
	Trust      bool   `json:"trust"`
	// MinRateMbit and MaxRateMbit are 0 without a limit.
	MinRateMbit int `json:"min_rate_mbit"`
	MaxRateMbit int `json:"max_rate_mbit"`
	// LinkState is the kernel's number: 0 auto, 1 enable, 2 disable (IFLA_VF_LINK_STATE_*).
	LinkState int `json:"link_state"`
}

// VFAddress is the PCI address that the VF with an index has, or will have once it exists;
// empty if the function does not report it.
func (f Function) VFAddress(index int) string {
	for _, vf := range f.VFs {
		if vf.Index == index {
			return vf.Address
		}
	}
	if f.VFOffset == 0 {
		return ""
	}
	var domain, bus, device, function int
	if _, err := fmt.Sscanf(f.Address, "%x:%x:%x.%x", &domain, &bus, &device, &function); err != nil {
		return ""
	}
	// A routing ID has 8 bits of bus, 5 of device and 3 of function.
	id := bus<<8 | device<<3 | function
	id += f.VFOffset + index*f.VFStride
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, id>>8, id>>3&0x1f, id&7)
}

// Name is the interface's name, otherwise the address.
func (f Function) Name() string {
	if f.Interface != "" {
		return f.Interface
	}
	return f.Address
}

// IOMMU says whether devices can be given to programs.
type IOMMU struct {
	// Groups is the number of groups; 0 where the IOMMU is off or absent.
	Groups int `json:"groups"`
	// Unsafe is true where vfio gives devices to programs without an IOMMU
	// (enable_unsafe_noiommu_mode).
	Unsafe bool `json:"unsafe,omitempty"`
	// Translates is true if the IOMMU translates the addresses of every device. A
	// device that a program drives by UIO can then reach no memory, because UIO maps
	// none for it. It is false also before Linux 5.11, where the kernel does not report
	// it.
	Translates bool `json:"translates,omitempty"`
}
