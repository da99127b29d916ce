package host

import "fmt"

// Function is a physical PCI function of a network card, with the virtual functions
// (VFs) that it has now.
type Function struct {
	Address string `json:"address"`
	// Driver is empty where none has it.
	Driver string `json:"driver,omitempty"`
	// Interface is the kernel's, in the network namespace of the reader.
	Interface string `json:"interface,omitempty"`
	MAC       string `json:"mac,omitempty"`
	State     string `json:"state,omitempty"` // operstate
	// Carrier tells whether the other end of the cable is there: yes, no, or empty
	// where the interface is down and does not know.
	Carrier   string `json:"carrier,omitempty"`
	SpeedMbit int    `json:"speed_mbit,omitempty"`
	MTU       int    `json:"mtu,omitempty"`
	NUMANode  int    `json:"numa_node"` // -1: the machine does not say
	// IOMMUGroup is -1 without one. Companions are the others in it, with their
	// drivers: a program gets all of a group or nothing (vfio.rst).
	IOMMUGroup int      `json:"iommu_group"`
	Companions []string `json:"companions,omitempty"`
	// UsedBy says who has it, in words; empty if nobody is known to.
	UsedBy string `json:"used_by,omitempty"`
	// Uplink is true where the host's own traffic leaves by it.
	Uplink bool `json:"uplink,omitempty"`
	// VLANs are those of the host's VLAN devices on it.
	VLANs []int `json:"vlans,omitempty"`
	// TotalVFs is 0 without SR-IOV; NumVFs are made now.
	TotalVFs int `json:"total_vfs,omitempty"`
	NumVFs   int `json:"num_vfs,omitempty"`
	// VFOffset and VFStride give the address of the VF i: the function's own number
	// and VFOffset + i × VFStride (PCI Express Base 3.3.9 and 3.3.10).
	VFOffset int               `json:"vf_offset,omitempty"`
	VFStride int               `json:"vf_stride,omitempty"`
	VFs      []VirtualFunction `json:"vfs,omitempty"` // by index
}

// VirtualFunction is one that is made already.
type VirtualFunction struct {
	Index     int    `json:"index"`
	Address   string `json:"address"`
	Driver    string `json:"driver,omitempty"`
	Interface string `json:"interface,omitempty"`
	// MAC and VLAN are what the physical function says of it.
	MAC        string `json:"mac,omitempty"`
	VLAN       int    `json:"vlan,omitempty"`
	IOMMUGroup int    `json:"iommu_group"`
	// UsedBy says who has it, in words; empty if nobody is known to. Lab is the lab of
	// nines that has it.
	UsedBy string `json:"used_by,omitempty"`
	Lab    string `json:"lab,omitempty"`
}

// VFSettings is what a physical function holds for one of its virtual ones, as
// ip link shows it.
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

// VFAddress is the PCI address that the VF of an index has, or will have once it is
// made; empty where the function does not say.
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
	// A routing id is the bus's 8 bits, the device's 5 and the function's 3.
	id := bus<<8 | device<<3 | function
	id += f.VFOffset + index*f.VFStride
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, id>>8, id>>3&0x1f, id&7)
}

// Name is the interface's, else the address.
func (f Function) Name() string {
	if f.Interface != "" {
		return f.Interface
	}
	return f.Address
}

// IOMMU says whether programs can be given devices.
type IOMMU struct {
	// Groups is how many there are; 0 where the IOMMU is off or absent.
	Groups int `json:"groups"`
	// Unsafe is true where vfio gives devices out without an IOMMU
	// (enable_unsafe_noiommu_mode).
	Unsafe bool `json:"unsafe,omitempty"`
	// Translates is true where it translates the addresses of every device: one that a
	// program drives by UIO, which tells nobody of the program's memory, then reaches none.
	// False also before Linux 5.11, which does not say.
	Translates bool `json:"translates,omitempty"`
}
