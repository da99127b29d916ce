package spec

// SRIOV sets up the virtual functions of a link of kind sriov.
type SRIOV struct {
	// Ports are the physical functions: two that a cable joins, the first for the first
	// endpoint, or one, whose own switch joins both (default: the plan chooses).
	Ports []string `yaml:"ports,omitempty" json:"ports,omitempty"`
	// VLAN keeps the link apart from others on the same ports, 1 to 4094 (default: the
	// plan chooses).
	VLAN int `yaml:"vlan,omitempty" json:"vlan,omitempty"`
	// Trust lets the functions ask for promiscuous mode (default true).
	Trust *bool `yaml:"trust,omitempty" json:"trust,omitempty"`
	// SpoofCheck drops frames with another source address than the function's (default
	// false).
	SpoofCheck bool `yaml:"spoof_check,omitempty" json:"spoof_check,omitempty"`
	// Rate limits what each function sends (default: no limit).
	Rate BitRate `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Driver is what DPDK drives the functions with, where an endpoint's backend is dpdk
	// (default vfio-pci).
	Driver ProgramDriver `yaml:"driver,omitempty" json:"driver,omitempty"`
}

// Passthrough gives whole devices of the host to the endpoints of a link of kind
// passthrough.
type Passthrough struct {
	// Devices are the host's, one for each endpoint in order: an interface's name or a
	// PCI address.
	Devices []string `yaml:"devices" json:"devices"`
	// Driver is what DPDK drives them with (default vfio-pci).
	Driver ProgramDriver `yaml:"driver,omitempty" json:"driver,omitempty"`
}

// ProgramDriver is a kernel driver that leaves a device to a program.
type ProgramDriver string

// The drivers for programs: DriverVFIO keeps the device to its memory by the IOMMU;
// the two of UIO need none, and do not.
const (
	DriverVFIO   ProgramDriver = "vfio-pci"
	DriverUIO    ProgramDriver = "uio_pci_generic"
	DriverIGBUIO ProgramDriver = "igb_uio"
)

// VM sets up a node of the runtime vm.
type VM struct {
	// Kernel is the guest's: debian, cloud, rt, or host, which is a package's or the
	// host's own image; or the absolute path of an image (default debian).
	Kernel string `yaml:"kernel,omitempty" json:"kernel,omitempty"`
	// CommandLine is added to the guest kernel's command line.
	CommandLine string `yaml:"command_line,omitempty" json:"command_line,omitempty"`
	// Acceleration is how the guest's instructions are run (default auto).
	Acceleration Acceleration `yaml:"acceleration,omitempty" json:"acceleration,omitempty"`
}

// Acceleration is how a guest's instructions are run.
type Acceleration string

// AccelerationAuto takes KVM where a guest is seen to run on it, else TCG, which
// translates instructions, so that timings mean nothing.
const (
	AccelerationAuto Acceleration = "auto"
	AccelerationKVM  Acceleration = "kvm"
	AccelerationTCG  Acceleration = "tcg"
)
