package host

import (
	"sort"
	"strings"

	"nines.dev/nines/kernel/files"
	"nines.dev/nines/terminal"
)

// State says whether the host has a feature.
type State string

// The states of a feature. StateModule is a feature that the kernel configuration has as a
// module; it is available once the module is loaded. StateUnknown is what only Probe can
// find out.
const (
	StateYes     State = "yes"
	StateNo      State = "no"
	StateModule  State = "module"
	StateUnknown State = "unknown"
)

// Feature is one thing that the host can or cannot do.
type Feature struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Detail is what was seen: a version, a path, an error.
	Detail string `json:"detail,omitempty"`
	// Probed is true if it was tried, false if read from files.
	Probed bool `json:"probed,omitempty"`
}

// The features by name.
const (
	FeatureNetns   = "netns"
	FeatureVeth    = "veth"
	FeatureBridge  = "bridge"
	FeatureMacvlan = "macvlan"
	FeatureVLAN    = "vlan"
	FeatureVXLAN   = "vxlan"
	FeatureTun     = "tun"
	FeatureNetem   = "netem"           // the queueing discipline that impairs packets
	FeatureXDPVeth = "xdp_native_veth" // native XDP on a veth
	FeatureAFXDP   = "af_xdp"
	FeatureBTF     = "btf"
	FeatureIOURing = "io_uring"
	FeatureLXC     = "lxc"
	// The programs that make containers of images.
	FeatureRunc       = "runc"
	FeatureCrun       = "crun"
	FeaturePodman     = "podman"
	FeatureDocker     = "docker"
	FeatureContainerd = "containerd"
	FeatureDNSMasq    = "dnsmasq"
	FeatureSSHServer  = "sshd"
	FeatureOverlay    = "overlay"
	FeatureKVM        = "kvm"
	FeatureVFIO       = "vfio"
	FeatureVhostNet   = "vhost_net"
	FeatureIOMMU      = "iommu"
	FeatureNoHzFull   = "nohz_full"
	FeatureLivepatch  = "livepatch"
	FeatureHugepages  = "hugepages"
	FeatureCpuset     = "cpuset"
	// FeatureOpenvSwitch is the kernel's datapath of Open vSwitch.
	FeatureOpenvSwitch = "openvswitch"
	FeatureUIO         = "uio"
	// The kernel's drivers that give a device to a program.
	FeatureVFIOPCI = "vfio-pci"
	FeatureUIOPCI  = "uio_pci_generic"
	FeatureIGBUIO  = "igb_uio" // not in the kernel: dpdk-kmods has it
	// The programs that links use.
	FeatureOVS     = "ovs-vswitchd"
	FeatureOVSDPDK = "ovs-dpdk" // an ovs-vswitchd that was built with DPDK
	FeatureOVN     = "ovn-controller"
	FeatureTestpmd = "dpdk-testpmd"
	// FeatureQEMU is QEMU for x86, the only architecture that is supported.
	FeatureQEMU  = "qemu"
	FeatureVPP   = "vpp"
	FeatureSnabb = "snabb"
)

// Feature finds a feature by name; a feature that the inventory lacks is unknown.
func (inv *Inventory) Feature(name string) Feature {
	for _, f := range inv.Features {
		if f.Name == name {
			return f
		}
	}
	return Feature{Name: name, State: StateUnknown}
}

// configFeatures are features that follow from the kernel configuration, with their
// modules.
var configFeatures = []struct{ name, option, module string }{
	{FeatureVeth, "VETH", "veth"},
	{FeatureBridge, "BRIDGE", "bridge"},
	{FeatureMacvlan, "MACVLAN", "macvlan"},
	{FeatureVLAN, "VLAN_8021Q", "8021q"},
	{FeatureVXLAN, "VXLAN", "vxlan"},
	{FeatureNetem, "NET_SCH_NETEM", "sch_netem"},
	{FeatureAFXDP, "XDP_SOCKETS", ""},
	{FeatureNoHzFull, "NO_HZ_FULL", ""},
	{FeatureOpenvSwitch, "OPENVSWITCH", "openvswitch"},
	{FeatureOverlay, "OVERLAY_FS", "overlay"},
	{FeatureVFIOPCI, "VFIO_PCI", "vfio_pci"},
	{FeatureUIOPCI, "UIO_PCI_GENERIC", "uio_pci_generic"},
}

// deviceFeatures are features that follow from a device node.
var deviceFeatures = []struct{ name, path string }{
	{FeatureTun, "/dev/net/tun"},
	{FeatureVFIO, "/dev/vfio/vfio"},
	{FeatureVhostNet, "/dev/vhost-net"},
}

// readFeatures derives features from files; it tries nothing.
func readFeatures(t Tree, inv *Inventory, config kernelConfig) []Feature {
	var list []Feature
	add := func(name string, state State, detail string) {
		list = append(list, Feature{Name: name, State: state, Detail: detail})
	}
	present := func(name string, have bool, detail string) {
		state := StateNo
		if have {
			state = StateYes
		}
		add(name, state, detail)
	}
	for _, f := range configFeatures {
		state, detail := configState(t, config, f.option, f.module)
		add(f.name, state, detail)
	}
	for _, f := range deviceFeatures {
		present(f.name, t.Exists(f.path), f.path)
	}
	veth, _ := configState(t, config, "VETH", "veth")
	bpf, _ := configState(t, config, "BPF_SYSCALL", "")
	switch {
	case veth == StateNo || bpf == StateNo:
		add(FeatureXDPVeth, StateNo, "needs CONFIG_VETH and CONFIG_BPF_SYSCALL")
	case !inv.Kernel.AtLeast(4, 19):
		add(FeatureXDPVeth, StateNo, "needs Linux 4.19")
	default:
		add(FeatureXDPVeth, veth, "by the kernel's release; not tried")
	}
	_, errNetns := t.ReadLink("/proc/self/ns/net")
	present(FeatureNetns, errNetns == nil, "/proc/self/ns/net")
	present(FeatureBTF, t.Exists("/sys/kernel/btf/vmlinux"), "/sys/kernel/btf/vmlinux")
	present(FeatureLivepatch, t.Exists("/sys/kernel/livepatch"), "/sys/kernel/livepatch")
	groups, _ := t.ReadDir("/sys/kernel/iommu_groups")
	present(FeatureIOMMU, len(groups) > 0, terminal.Count(len(groups), "IOMMU group"))
	present(FeatureHugepages, len(inv.Hugepages) > 0, "")
	if m, ok := inv.Cgroup.Controller("cpuset"); ok {
		add(FeatureCpuset, StateYes, m.Path)
	} else {
		add(FeatureCpuset, StateNo, "no cpuset controller is mounted")
	}
	uio, _ := t.ReadDir("/sys/class/uio")
	if t.Exists("/sys/module/igb_uio") {
		add(FeatureIGBUIO, StateYes, "loaded")
	} else {
		add(FeatureIGBUIO, StateUnknown, "not loaded; no kernel's configuration names it")
	}
	present(FeatureUIO, len(uio) > 0, terminal.Count(len(uio), "UIO device"))
	ring := ioURing(t, config)
	list = append(list, ring, lxcTools(t), kvmDevice(t))
	list = append(list, readReceive(t, inv.Kernel, config, ring)...)
	list = append(list, programs(t)...)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// configState derives a feature from the kernel configuration.
func configState(t Tree, config kernelConfig, option, module string) (State, string) {
	if module != "" && t.Exists("/sys/module/"+module) {
		return StateYes, "loaded"
	}
	switch {
	case config == nil:
		return StateUnknown, "the kernel's configuration was not found"
	case config[option] == "y":
		return StateYes, ""
	case config[option] == "m":
		return StateModule, "module " + module
	}
	return StateNo, "CONFIG_" + option + " is not set"
}

// ioURing reads kernel.io_uring_disabled (since 6.6): 0 allows io_uring to all, 1 to a
// group, 2 to none.
func ioURing(t Tree, config kernelConfig) Feature {
	f := Feature{Name: FeatureIOURing}
	switch files.Text(t, "/proc/sys/kernel/io_uring_disabled") {
	case "0":
		f.State = StateYes
	case "1":
		f.State, f.Detail = StateYes, "for root and kernel.io_uring_group only"
	case "2":
		f.State, f.Detail = StateNo, "kernel.io_uring_disabled is 2"
	default:
		f.State, f.Detail = configState(t, config, "IO_URING", "")
	}
	return f
}

// lxcTools asks lxc-start for its version.
func lxcTools(t Tree) Feature {
	version, err := t.Output("lxc-start", "--version")
	if err != nil {
		return Feature{Name: FeatureLXC, State: StateNo, Detail: "lxc-start is not there"}
	}
	return Feature{Name: FeatureLXC, State: StateYes, Detail: strings.TrimSpace(version)}
}

// kvmDevice does not take the device for a proof that KVM works: in nested virtual machines
// it often exists and yet runs no kernel.
func kvmDevice(t Tree) Feature {
	if !t.Exists("/dev/kvm") {
		return Feature{Name: FeatureKVM, State: StateNo, Detail: "/dev/kvm is not there"}
	}
	return Feature{Name: FeatureKVM, State: StateUnknown, Detail: "/dev/kvm is there; whether a guest runs has to be tried"}
}
