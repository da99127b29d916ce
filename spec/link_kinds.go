package spec

// The link kinds; package lab/link has one file each.
const (
	LinkVeth        LinkKind = "veth"
	LinkBridge      LinkKind = "bridge"
	LinkMacvlan     LinkKind = "macvlan"
	LinkXDP         LinkKind = "xdp"
	LinkVXLAN       LinkKind = "vxlan"
	LinkMemif       LinkKind = "memif"
	LinkSwitch      LinkKind = "switch"
	LinkTestpmd     LinkKind = "testpmd"
	LinkOVS         LinkKind = "ovs"
	LinkOVSDPDK     LinkKind = "ovs-dpdk"
	LinkOVN         LinkKind = "ovn"
	LinkVPP         LinkKind = "vpp"
	LinkSnabb       LinkKind = "snabb"
	LinkSRIOV       LinkKind = "sriov"
	LinkPassthrough LinkKind = "passthrough"
	LinkPodNetwork  LinkKind = "pod-network"
	LinkPodPort     LinkKind = "pod-port"
)

// ManagementKind is the kind of the link that is the management network.
const ManagementKind = LinkBridge

// mostTunnelMTU leaves room for the heads of a tunnel in the largest packet that a device may carry
// (ETH_MAX_MTU in include/uapi/linux/if_ether.h).
const mostTunnelMTU = 65535 - 100

// offloadKeys set the offloads of a link's devices. XDP and programs that open raw sockets would forward checksums that
// were left to a device, and XDP needs GRO; a macvlan has the offloads of its parent.
var offloadKeys = []string{"gro", "offloads"}

// linkKinds lists every kind, in the order of docs/links.md; the first is the default. The names in
// Needs are features of package host. The colours of the kernel's kinds are Okabe and Ito's, which
// colour-blind people can tell apart.
var linkKinds = []LinkDescriptor{
	{
		Kind: LinkVeth, Doc: "a pair of virtual Ethernet devices", Between: "nothing",
		Pair: true, End: EndVeth, Guest: GuestTap, XDPFrames: true, Keys: offloadKeys, ImpairBy: ImpairByNetem,
		Needs: []string{"veth"}, Colour: "#0072b2",
	},
	{
		Kind: LinkBridge, Doc: "a Linux bridge", Between: "the kernel's bridge",
		End: EndVeth, InFabric: true, Guest: GuestTap, Device: "bridge", Keys: offloadKeys, ImpairBy: ImpairByNetem, AnyEnds: true,
		Needs: []string{"veth", "bridge"}, Colour: "#00795a",
	},
	{
		Kind: LinkMacvlan, Doc: "macvlans on one parent", Between: "the kernel's macvlan",
		End: EndMacvlan, Device: "parent", Keys: []string{"parent"}, ImpairBy: ImpairByNetem,
		Needs: []string{"macvlan"}, Colour: "#a0528a",
	},
	{
		Kind: LinkXDP, Doc: "veth pairs joined by XDP programs", Between: "XDP programs",
		End: EndVeth, InFabric: true, Guest: GuestTap, XDPFrames: true, ImpairBy: ImpairByHop, AnyEnds: true,
		Needs: []string{"veth", "xdp_native_veth"}, Colour: "#b34700",
	},

	{
		Kind: LinkVXLAN, Doc: "a VXLAN tunnel between the bridges of two hosts", Between: "two Linux bridges, and a tunnel",
		Pair: true, End: EndVeth, InFabric: true, Device: "bridge", MostMTU: mostTunnelMTU, Keys: offloadKeys, ImpairBy: ImpairByNetem,
		Needs: []string{"veth", "bridge", "vxlan"}, Colour: "#00618a",
	},

	// Links that bypass the kernel: shared memory, our switch, and the switches it is compared
	// with.
	{
		Kind: LinkMemif, Doc: "memory that two engines with DPDK share", Between: "shared memory",
		Pair: true, End: EndNone, DPDK: DPDKMemif, Colour: "#4d5d00",
	},
	{
		Kind: LinkSwitch, Doc: "the engine's own learning switch", Between: "nines-engine",
		End: EndVeth, InFabric: true, DPDK: DPDKVhost, Guest: GuestVhost, ImpairBy: ImpairByProgram, AnyEnds: true,
		MostEndpoints: maxSwitchPorts, MostMTU: maxSwitchFrameBytes - frameOverheadBytes,
		Program: &LinkProgram{
			IsEngine: true, Listens: true, MostCPUs: maxSwitchCPUs, Opens: "AF_XDP",
			Keys: []string{"ageing", "flood_pps", "broadcast_pps", "ports"},
		},
		// Only kernel endpoints are veth pairs; nearly all kernels have them.
		Needs: []string{"veth"}, Colour: "#6a3fb5",
	},
	{
		Kind: LinkTestpmd, Doc: "DPDK's testpmd in io mode between two vhost-user ports", Between: "dpdk-testpmd",
		Pair: true, End: EndVeth, InFabric: true, DPDK: DPDKVhost, Guest: GuestVhost,
		Program: &LinkProgram{
			Listens: true, Opens: "AF_PACKET",
			MostCPUs: 2, // each direction between its ports has one thread
			// One pool for all ports: 128 MiB hold 32768 buffers of 2 KiB, with room for the rings.
			MemoryBytes: 128 << 20,
		},
		Needs: []string{"dpdk-testpmd"}, Colour: "#8a5a00",
	},
	{
		Kind: LinkOVS, Doc: "Open vSwitch with the kernel's datapath, else its own in userspace", Between: "ovs-vswitchd or the kernel's datapath",
		End: EndVeth, InFabric: true, Guest: GuestTap, Device: "bridge", ImpairBy: ImpairByNetem,
		Program: &LinkProgram{Opens: "AF_XDP or AF_PACKET", KernelDatapath: "openvswitch", Keys: []string{"forwarding"}},
		Needs:   []string{"veth", "ovs-vswitchd"}, Colour: "#a3333d",
	},
	{
		Kind: LinkOVSDPDK, Doc: "Open vSwitch with DPDK and vhost-user ports", Between: "ovs-vswitchd with DPDK",
		End: EndVeth, InFabric: true, DPDK: DPDKVhost, Guest: GuestVhost, Device: "bridge",
		Program: &LinkProgram{
			Opens: "AF_XDP or AF_PACKET", Keys: []string{"forwarding"},
			// It asks for 262144 buffers for each MTU, and makes do with as few as 16384
			// (MAX_NB_MBUF and MIN_NB_MBUF in lib/netdev-dpdk.c).
			MemoryBytes: 256 << 20,
		},
		Needs: []string{"ovs-dpdk"}, Colour: "#a3333d",
	},
	{
		Kind: LinkOVN, Doc: "an OVN logical switch over two hosts, joined by a Geneve tunnel", Between: "two ovs-vswitchd, and a tunnel",
		Pair: true, End: EndVeth, InFabric: true, MostMTU: mostTunnelMTU,
		Program: &LinkProgram{Opens: "AF_PACKET"},
		Needs:   []string{"veth", "ovs-vswitchd", "ovn-controller"}, Colour: "#7d3c5a",
	},
	{
		Kind: LinkVPP, Doc: "FD.io's VPP, if it is installed", Between: "vpp",
		End: EndVeth, InFabric: true, DPDK: DPDKVhost,
		Program: &LinkProgram{Opens: "AF_PACKET", Memory: vppMemory, EachNUMANode: true, Unpackaged: true},
		Needs:   []string{"vpp"}, Colour: "#8a5a00",
	},
	{
		Kind: LinkSnabb, Doc: "Snabb's bridge, if it is installed", Between: "snabb",
		End: EndVeth, InFabric: true, DPDK: DPDKVhost,
		// It writes to the eventfd of a ring before it knows it, and ends (lib/virtio/virtq_device.lua).
		Program: &LinkProgram{Opens: "AF_PACKET", MostCPUs: 1, Memory: snabbMemory, HugepagesOnly: true, CannotWake: true, Unpackaged: true},
		Needs:   []string{"snabb"}, Colour: "#8a5a00",
	},

	{
		Kind: LinkSRIOV, Doc: "two virtual functions of network cards, on cabled ports or on one", Between: "two cabled ports, or the switch inside one",
		Pair: true, End: EndFunction, Guest: GuestFunction, Keys: append([]string{"sriov"}, offloadKeys...), Colour: "#57606a",
	},
	{
		Kind: LinkPassthrough, Doc: "whole devices of the host, one an endpoint", Between: "what is outside the host",
		Pair: true, End: EndDevice, Guest: GuestFunction, Keys: append([]string{"passthrough"}, offloadKeys...), Colour: "#57606a",
	},

	{
		Kind: LinkPodNetwork, Doc: "the cluster's network between pods", Between: "the cluster's network",
		End: EndPod, DPDK: DPDKNone, Remote: true, Colour: "#57606a",
	},
	{
		Kind: LinkPodPort, Doc: "interfaces or sockets that pods claim from their nodes, by a DeviceClass", Between: "the network that the ports are of",
		End: EndPod, DPDK: DPDKClaimed, Remote: true, Claimed: true, Keys: []string{"class"}, Colour: "#8a5a00",
	},
}
