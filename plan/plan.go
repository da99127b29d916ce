package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/spec"
)

// Schema names the format of plan.json.
const Schema = "nines/plan/v1"

// Plan says which CPUs, memory, devices and addresses each part of a lab gets, and why. It is plain
// data: the same experiment and host give the same plan, byte for byte.
type Plan struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	// Prefix begins every name made outside the nodes; at most 8 bytes.
	Prefix string `json:"prefix"`
	// HousekeepingCPUs are for the host and for nodes without their own CPUs.
	HousekeepingCPUs []int `json:"housekeeping_cpus"`
	// Isolation is how far other work is kept off the nodes' CPUs.
	Isolation spec.Isolation `json:"isolation"`
	// IsolatedCPUs run only the nodes whose Isolated is true, and idle siblings among them run
	// nothing; empty unless Isolation is partition or isolated.
	IsolatedCPUs []int `json:"isolated_cpus,omitempty"`
	// QuietCPUs are the CPUs of link programs, where Isolation is isolated: they are in no
	// partition, but interrupts and kernel threads are kept off them too.
	QuietCPUs []int `json:"quiet_cpus,omitempty"`
	// Tuning is the profile of host settings while the lab is up; empty for none.
	Tuning  spec.Tuning `json:"tuning,omitempty"`
	Nodes   []Node      `json:"nodes"` // sorted by name
	Links   []Link      `json:"links"` // in the file's order; behind those of the lab that it changes
	Traffic *Traffic    `json:"traffic,omitempty"`
	// Duet is set where two variants stand side by side: Traffic is then the stream of side a.
	Duet *Duet `json:"duet,omitempty"`
	// Management is the network by which the host reaches the nodes; nil without one.
	Management *Management `json:"management,omitempty"`
	// Cluster says where pods run; nil where no node is one.
	Cluster *spec.Cluster `json:"cluster,omitempty"`
	// PhysicalFunctions are the ports whose virtual functions the lab uses, by address.
	PhysicalFunctions []PhysicalFunction `json:"physical_functions,omitempty"`
	// Hugepages is how many DPDK takes; nil where nothing uses DPDK.
	Hugepages *Hugepages `json:"hugepages,omitempty"`
	// Scripts are the host's scripts and the limits of all; nil where no node and no host has one.
	Scripts *spec.HostScripts `json:"scripts,omitempty"`
	// Power is what switches nodes on and off over the network; nil for none.
	Power *Power `json:"power,omitempty"`
	// Disturbances are deliberate, while the lab is up; sorted by name.
	Disturbances []Disturbance `json:"disturbances,omitempty"`
	// Events happen in every trial, in the file's order.
	Events []spec.Event `json:"events,omitempty"`
	// Notes are what a reader should know, such as which CPUs had to be shared.
	Notes []string `json:"notes"`
	// Shared says which services may run on the CPUs of the traffic's ends.
	Shared []string `json:"shared,omitempty"`
}

// Node is one machine of the lab.
type Node struct {
	Name    string       `json:"name"`
	Runtime spec.Runtime `json:"runtime"`
	// HostName is Prefix-Name: the name of the container, the cgroup and the namespace.
	HostName string `json:"host_name"`
	// CPUs the node may use; CPUsExclusive if no other node or housekeeping has them.
	CPUs          []int `json:"cpus"`
	CPUsExclusive bool  `json:"cpus_exclusive"`
	// Isolated is true if the node's CPUs are among the plan's IsolatedCPUs.
	Isolated    bool  `json:"isolated,omitempty"`
	MemoryNodes []int `json:"memory_nodes"`
	MemoryBytes int64 `json:"memory_bytes"` // 0: no limit
	// HugepageBytes is the most hugepage memory that the node may use, in pages of HugepageSize; 0:
	// no limit.
	HugepageBytes int64        `json:"hugepage_bytes,omitempty"`
	HugepageSize  int64        `json:"hugepage_size,omitempty"`
	Rootfs        *spec.Rootfs `json:"rootfs,omitempty"`
	// Image is set for a node whose files are an image's.
	Image *Image `json:"image,omitempty"`
	// OCI is set for a container of an OCI image.
	OCI *OCI `json:"oci,omitempty"`
	// Scheduling is the policy of what nines starts in the node; nil: unchanged.
	Scheduling *spec.Scheduling  `json:"scheduling,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Exec       [][]string        `json:"exec,omitempty"`
	// Restart says when the node is started again; empty: never.
	Restart spec.RestartPolicy `json:"restart,omitempty"`
	// Healthcheck reports whether the node does its work; nil: it is not checked.
	Healthcheck *spec.Healthcheck `json:"healthcheck,omitempty"`
	// Services are the user's programs that run as long as the lab.
	Services []spec.Service `json:"services,omitempty"`
	// ServiceCPUs are the CPUs of each service, of the node's; nil where they share these.
	ServiceCPUs map[string][]int `json:"service_cpus,omitempty"`
	// Scripts are the node's scripts, as the file names them; nil where it has none.
	Scripts *spec.Scripts `json:"scripts,omitempty"`
	Mounts  []spec.Mount  `json:"mounts,omitempty"`
	// Privileged is true where the node's processes may do what root on the host may.
	Privileged bool `json:"privileged,omitempty"`
	// Allow are rights of the node's programs besides the ordinary ones.
	Allow []spec.Allowance `json:"allow,omitempty"`
	// NoNewPrivileges is true where programs gain no rights when they start.
	NoNewPrivileges bool              `json:"no_new_privileges,omitempty"`
	Sysctls         map[string]string `json:"sysctls,omitempty"`
	Interfaces      []Interface       `json:"interfaces"` // in the links' order
	// Loopback are addresses of the node's own on its interface lo, beside those that every node has there.
	Loopback []string     `json:"loopback,omitempty"`
	Routes   []spec.Route `json:"routes,omitempty"`
	App      *App         `json:"app,omitempty"`
	// VM is set for a virtual machine.
	VM *VM `json:"vm,omitempty"`
	// Pod is set for a pod on a cluster.
	Pod *Pod `json:"pod,omitempty"`
	// DPDK is set for a node whose engine uses DPDK.
	DPDK *DPDK `json:"dpdk,omitempty"`
	// Devices are device nodes of the host that the node may open besides the usual ones, such as
	// /dev/vfio/7.
	Devices []string `json:"devices,omitempty"`
	// Functions are the addresses of the host's PCI functions that a program in the
	// node drives; their device nodes are known once they have their driver.
	Functions []string `json:"functions,omitempty"`
	// Receive is what the interfaces' receive modes need; nil where all use interrupts.
	Receive *Receive `json:"receive,omitempty"`
	// Why gives a sentence for each choice made.
	Why []string `json:"why"`
}

// EndsForServices is what a plan's services are told of the traffic, as text; empty without traffic or services.
func (p *Plan) EndsForServices() string {
	if p.Traffic == nil || !p.HasServices() {
		return ""
	}
	text := fmt.Sprint(p.Traffic.From.LocalIP, " ", p.Traffic.To.LocalIP, " ", p.Traffic.To.UDPPort)
	if p.Duet != nil {
		text += fmt.Sprint(" ", p.Duet.Other.From.LocalIP, " ", p.Duet.Other.To.LocalIP)
	}
	return text
}

// Watched is true for a node whose health is checked, or that is started again when it ends.
func (n *Node) Watched() bool { return n.Restart != "" || n.Healthcheck != nil }

// HasServices is true for a plan with a node in which programs of the user's run.
func (p *Plan) HasServices() bool {
	return slices.ContainsFunc(p.Nodes, func(n Node) bool { return len(n.Services) > 0 })
}

// Watched is true for a plan with a node whose health is checked, or that is started again when it
// ends.
func (p *Plan) Watched() bool {
	for i := range p.Nodes {
		if p.Nodes[i].Watched() {
			return true
		}
	}
	return false
}

// Interface is one end of a link inside a node.
type Interface struct {
	Name string `json:"name"`
	// Alias is what the file calls it, where the kernel takes no such name; the kernel has it as the interface's alias.
	Alias      string      `json:"alias,omitempty"`
	Link       string      `json:"link"`
	MAC        string      `json:"mac"`
	Addresses  []string    `json:"addresses"` // CIDR; the first is the engine's. None where a cluster gives them
	MTU        int         `json:"mtu"`
	Neighbours []Neighbour `json:"neighbours,omitempty"` // static, so that no ARP runs in a trial
	// RX is how the kernel gets packets from the interface; empty: by interrupts.
	RX spec.Receive `json:"rx,omitempty"`
	// PCI is where a virtual machine's guest finds the interface on its bus.
	PCI string `json:"pci,omitempty"`
	// SocketMap is true where an engine in a pod opens the interface by AF_XDP, and the pod claims the map for that.
	SocketMap bool `json:"socket_map,omitempty"`
	// Device is set where DPDK opens the interface.
	Device *Device `json:"device,omitempty"`
}

// CalledAs is its name, with what the file calls it.
func (i Interface) CalledAs() string {
	if i.Alias == "" {
		return i.Name
	}
	return i.Name + " (" + i.Alias + ")"
}

// InKernel is true for an interface that is a kernel device in its node.
func (i Interface) InKernel() bool { return i.Device == nil || i.Device.Kernel }

// Neighbour is a permanent entry of the neighbour table.
type Neighbour struct {
	IP  string `json:"ip"`
	MAC string `json:"mac"`
}

// Link joins nodes' interfaces.
type Link struct {
	Name string        `json:"name"`
	Kind spec.LinkKind `json:"kind"`
	// Management is true for the management network, which no traffic goes over.
	Management bool `json:"management,omitempty"`
	MTU        int  `json:"mtu"`
	// Device is the bridge, or the macvlan's private parent, in the lab's fabric
	// namespace; Parent is a macvlan's parent on the host.
	Device    string     `json:"device,omitempty"`
	Parent    string     `json:"parent,omitempty"`
	Endpoints []Endpoint `json:"endpoints"`
	// Switch is the program between the endpoints, where there is one.
	Switch *Switch `json:"switch,omitempty"`
	// Impairments are what happens to packets deliberately, in the order of the endpoints.
	Impairments []Impairment `json:"impairments,omitempty"`
	// GRO and Offloads are on at the link's devices.
	GRO      bool           `json:"gro,omitempty"`
	Offloads []spec.Offload `json:"offloads,omitempty"`
}

// OffloadText lists what is on at the link's devices: "off", or "gro, tso".
func (l Link) OffloadText() string {
	var on []string
	if l.GRO {
		on = append(on, "gro")
	}
	for _, o := range l.Offloads {
		on = append(on, string(o))
	}
	return cmp.Or(strings.Join(on, ", "), "off")
}

// HasEngine reports whether the program between the endpoints is nines-engine, which reports its
// ports and counters.
func (l Link) HasEngine() bool {
	program := l.Program()
	return program != nil && program.IsEngine
}

// HasPrograms is true for a plan with a link that has a program between its endpoints, or one that serves names.
func (p *Plan) HasPrograms() bool {
	for _, l := range p.Links {
		if l.Switch != nil || l.Management {
			return true
		}
	}
	return false
}

// Endpoint is where a link joins a node.
type Endpoint struct {
	Node      string `json:"node"`
	Interface string `json:"interface"`
	// FabricDevice is the other end of the veth pair, in the fabric namespace;
	// empty where the link kind has none.
	FabricDevice string `json:"fabric_device,omitempty"`
	// Guest is true if the node is a virtual machine: it has a tap, whose other side QEMU has,
	// where other nodes have an end of a veth pair.
	Guest bool `json:"guest,omitempty"`
	// Attach is how the endpoint attaches to the link's program.
	Attach Attach `json:"attach,omitempty"`
	// Socket is the vhost-user or memif socket, relative to the lab's folder of sockets;
	// SocketServer is true if the link's program listens on it, false if the node does. On a memif
	// link the first endpoint listens.
	Socket       string `json:"socket,omitempty"`
	SocketServer bool   `json:"socket_server,omitempty"`
	// Function is the PCI function of an endpoint of a hardware link.
	Function Function `json:"function,omitzero"`
}

// Name is "node:interface", as in the file; a switch names its ports so too.
func (e Endpoint) Name() string { return endName(e.Node, e.Interface) }

func endName(nodeName, interfaceName string) string { return nodeName + ":" + interfaceName }

// App is what a node's engine, or its kernel, does with packets.
type App struct {
	Kind spec.AppKind `json:"kind"`
	// Leaves and Forwarding are of a device.
	Leaves     spec.Leaves      `json:"leaves,omitempty"`
	Forwarding spec.ForwardedBy `json:"forwarding,omitempty"`
	Backend    spec.Backend     `json:"backend,omitempty"`
	IO         spec.IO          `json:"io,omitempty"`
	Wait       spec.Wait        `json:"wait,omitempty"`
	// Work is what a packet takes in the engine besides, of each side of a duet that it serves; empty: nothing.
	Work []spec.Duration `json:"work,omitempty"`
	CPU  int             `json:"cpu"` // the engine's; -1 without one, and where nothing is pinned
	// Ports is one for reflect, two for forward: in, out, on the traffic's path.
	Ports []Port `json:"ports,omitempty"`
}

// Handling is what the app does with packets; nil does nothing.
func (a *App) Handling() spec.Handling {
	if a == nil {
		return spec.Handling{}
	}
	return spec.Handling{Kind: a.Kind, Leaves: a.Leaves, Forwarding: a.Forwarding}
}

// Port is an interface as the engine uses it, with the peer it sends to. An address that a cluster
// gives is known only when the pod runs: in its place is the endpoint, "node:interface", and there is
// no MAC address.
type Port struct {
	Node      string `json:"node"`
	Interface string `json:"interface"`
	LocalIP   string `json:"local_ip"`
	LocalMAC  string `json:"local_mac"`
	// PeerIP and PeerMAC are the next hop of what this port sends: the next engine's address for
	// UDP sockets, the MAC address for frames.
	PeerIP  string `json:"peer_ip,omitempty"`
	PeerMAC string `json:"peer_mac,omitempty"`
	// UDPPort is the port that every engine of the lab listens on.
	UDPPort int `json:"udp_port"`
	// Backend is this end's backend; empty: the stream's. Plans of files leave it empty.
	Backend spec.Backend `json:"backend,omitempty"`
}

// The roles of the traffic's ends: in a loop one engine sends and receives, in a
// pair one generates and another is the sink.
const (
	RoleLoop = "loop"
	RolePair = "pair"
)

// Traffic is the measured stream with its ends resolved.
type Traffic struct {
	// Role is RoleLoop or RolePair.
	Role string `json:"role"`
	// RoundTrip is true where the packets return to the interface that sent them.
	RoundTrip bool     `json:"round_trip"`
	From      Port     `json:"from"`
	To        Port     `json:"to"`
	FromCPU   int      `json:"from_cpu"` // -1 where nothing is pinned
	ToCPU     int      `json:"to_cpu"`
	Path      []string `json:"path"` // "node:interface" in the order a packet meets them
	// Way is what must be seen where they arrive.
	Way *Way `json:"way"`
	// Stream is the experiment's traffic. A search, and a rate that is a fraction of a maximum,
	// send at other rates through the same ports: package measure has the stream of a trial.
	Stream spec.Traffic `json:"stream"`
}
