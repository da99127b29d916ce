package spec

// SRIOV sets up the virtual functions of a link of kind sriov.
type SRIOV struct {
	// Ports are the physical functions: two joined by a cable, the first for the first endpoint, or
	// one, whose internal switch joins both endpoints (default: the plan chooses).
	Ports []string `yaml:"ports,omitempty" json:"ports,omitempty"`
	// VLAN separates the link from others on the same ports, 1 to 4094 (default: the plan chooses).
	VLAN int `yaml:"vlan,omitempty" json:"vlan,omitempty"`
	// Trust lets the functions ask for promiscuous mode (default true).
	Trust *bool `yaml:"trust,omitempty" json:"trust,omitempty"`
	// SpoofCheck drops frames whose source address is not the function's (default false).
	SpoofCheck bool `yaml:"spoof_check,omitempty" json:"spoof_check,omitempty"`
	// Rate limits what each function sends (default: no limit).
	Rate BitRate `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Driver is the kernel driver through which DPDK uses the functions, where an endpoint's
	// backend is dpdk (default vfio-pci).
	Driver ProgramDriver `yaml:"driver,omitempty" json:"driver,omitempty"`
}

// Passthrough gives whole devices of the host to the endpoints of a link of kind
// passthrough.
type Passthrough struct {
	// Devices are devices of the host, one for each endpoint in order: an interface's name or a PCI
	// address.
	Devices []string `yaml:"devices" json:"devices"`
	// Driver is the kernel driver through which DPDK uses them (default vfio-pci).
	Driver ProgramDriver `yaml:"driver,omitempty" json:"driver,omitempty"`
}

// ProgramDriver is a kernel driver that leaves a device to a program.
type ProgramDriver string

// The drivers for programs: DriverVFIO limits the device to the program's memory by the IOMMU; the
// two UIO drivers need no IOMMU, and do not limit the device.
const (
	DriverVFIO   ProgramDriver = "vfio-pci"
	DriverUIO    ProgramDriver = "uio_pci_generic"
	DriverIGBUIO ProgramDriver = "igb_uio"
)

// VM sets up a node of the runtime vm.
type VM struct {
	// Kernel is the guest's kernel: debian, cloud or rt from a package, host for the host's own
	// image, or the absolute path of an image (default debian).
	Kernel string `yaml:"kernel,omitempty" json:"kernel,omitempty"`
	// CommandLine is added to the guest kernel's command line.
	CommandLine string `yaml:"command_line,omitempty" json:"command_line,omitempty"`
	// Acceleration is how the guest's instructions are executed (default auto).
	Acceleration Acceleration `yaml:"acceleration,omitempty" json:"acceleration,omitempty"`
}

// Acceleration is how a guest's instructions are executed.
type Acceleration string

// AccelerationAuto takes KVM where a test guest runs on it, else TCG, which translates
// instructions, so that timings mean nothing.
const (
	AccelerationAuto Acceleration = "auto"
	AccelerationKVM  Acceleration = "kvm"
	AccelerationTCG  Acceleration = "tcg"
)
