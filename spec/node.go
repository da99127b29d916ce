package spec

// Node is one machine of the network.
type Node struct {
	// Runtime is what the node is made of (default netns).
	Runtime Runtime `yaml:"runtime,omitempty" json:"runtime,omitempty"`
	// CPUs is how many CPUs the node has for itself; with 0 it shares the housekeeping CPUs, unless
	// it runs an engine, which gets one.
	CPUs int `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	// CPUList names the CPUs instead ("2-3,8"); it excludes CPUs.
	CPUList string `yaml:"cpu_list,omitempty" json:"cpu_list,omitempty"`
	// MemoryNode is the NUMA node of the CPUs and the memory (default: the plan chooses one near
	// the node's network card).
	MemoryNode *int `yaml:"memory_node,omitempty" json:"memory_node,omitempty"`
	// Memory limits what the node may use (default: no limit).
	Memory Size `yaml:"memory,omitempty" json:"memory,omitempty"`
	// HugepageLimit is the most hugepage memory that the node may use, by the hugetlb controller
	// (default: what its engine takes, where the node uses DPDK).
	HugepageLimit Size `yaml:"hugepage_limit,omitempty" json:"hugepage_limit,omitempty"`
	// Scheduling is how the kernel schedules the node's engine (default: as any
	// process).
	Scheduling *Scheduling `yaml:"scheduling,omitempty" json:"scheduling,omitempty"`
	// RX is how the kernel gets packets from the node's interfaces to the program that waits for
	// them (default interrupt).
	RX Receive `yaml:"rx,omitempty" json:"rx,omitempty"`
	// Polling sets up the threads that rx may need.
	Polling *Polling `yaml:"polling,omitempty" json:"polling,omitempty"`
	// VM sets up a vm node.
	VM *VM `yaml:"vm,omitempty" json:"vm,omitempty"`
	// Host is the cluster's node that a pod runs on (default: the cluster's scheduler chooses).
	Host string `yaml:"host,omitempty" json:"host,omitempty"`
	// Latency is the latency that a pod asks nines' scheduler for: "p99.99 < 100us".
	Latency string `yaml:"latency,omitempty" json:"latency,omitempty"`
	// Rootfs is the file system of an lxc node without an image, and its first process.
	Rootfs *Rootfs `yaml:"rootfs,omitempty" json:"rootfs,omitempty"`
	// Image is the file system of an oci, lxc or vm node, and what runs in an oci node; ParseImage says
	// what it names.
	Image string `yaml:"image,omitempty" json:"image,omitempty"`
	// Driver is the program that makes an oci node's container (default runc).
	Driver OCIDriver `yaml:"driver,omitempty" json:"driver,omitempty"`
	// Init is the first process of an oci node (default image).
	Init ContainerInit `yaml:"init,omitempty" json:"init,omitempty"`
	// Command replaces the image's entrypoint and command.
	Command []string `yaml:"command,omitempty" json:"command,omitempty"`
	// Env is the environment of everything that nines starts in the node.
	Env map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	// Exec are commands, run one after the other when the node's links are up; each is an argument
	// list, not a shell line. If one fails, so does the start of the lab.
	Exec [][]string `yaml:"exec,omitempty" json:"exec,omitempty"`
	// Services are the user's programs that run in the node as long as the lab does.
	Services []Service `yaml:"services,omitempty" json:"services,omitempty"`
	// Restart says when nines starts the node again by itself (default no).
	Restart RestartPolicy `yaml:"restart,omitempty" json:"restart,omitempty"`
	// Healthcheck reports whether the node does its work (default: it is not checked).
	Healthcheck *Healthcheck `yaml:"healthcheck,omitempty" json:"healthcheck,omitempty"`
	// Scripts run in the node when the experiment is run.
	Scripts *Scripts `yaml:"scripts,omitempty" json:"scripts,omitempty"`
	// Variables are for the node's scripts, by name. The result keeps them.
	Variables map[string]string `yaml:"variables,omitempty" json:"variables,omitempty"`
	// Mounts make paths of the host visible in the node.
	Mounts []Mount `yaml:"mounts,omitempty" json:"mounts,omitempty"`
	// Devices are device nodes of the host that the node may open besides the usual ones: /dev/net/tun (default: none).
	Devices []string `yaml:"devices,omitempty" json:"devices,omitempty"`
	// Privileged lets processes of the node do all that root on the host may (default false).
	Privileged bool `yaml:"privileged,omitempty" json:"privileged,omitempty"`
	// Allow gives programs of the node rights besides the ordinary ones: bpf, perf, io_uring, dpdk
	// (default: none).
	Allow []Allowance `yaml:"allow,omitempty" json:"allow,omitempty"`
	// NoNewPrivileges keeps programs of the node from gaining rights when they start, as by setuid
	// (default false).
	NoNewPrivileges bool `yaml:"no_new_privileges,omitempty" json:"no_new_privileges,omitempty"`
	// Sysctls are written inside the node's namespaces ("net.ipv4.ip_forward": "1").
	Sysctls map[string]string `yaml:"sysctls,omitempty" json:"sysctls,omitempty"`
	// Addresses are an interface's addresses, in CIDR form; an interface that lists none gets one
	// from the plan.
	Addresses map[string][]string `yaml:"addresses,omitempty" json:"addresses,omitempty"`
	// InterfaceAliases are the file's names of interfaces for which the kernel takes another, by the kernel's.
	InterfaceAliases map[string]string `yaml:"-" json:"-"`
	// MAC is an interface's MAC address; an interface that is not listed gets one from the plan.
	MAC map[string]string `yaml:"mac,omitempty" json:"mac,omitempty"`
	// Routes are added when the node's links are up.
	Routes []Route `yaml:"routes,omitempty" json:"routes,omitempty"`
	// App is what the node does with packets (default: nothing).
	App *App `yaml:"app,omitempty" json:"app,omitempty"`
}

// Rootfs says where an lxc node's file system comes from.
type Rootfs struct {
	// Kind is minimal (busybox, needs no network) or debian (mmdebstrap, cached).
	Kind RootfsKind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Release is Debian's code name (default: the host's, where it is Debian).
	Release string `yaml:"release,omitempty" json:"release,omitempty"`
	// Init is the container's first process: nines' own, which starts nothing else, or
	// systemd, which keeps to the container's first CPU (default nines).
	Init RootfsInit `yaml:"init,omitempty" json:"init,omitempty"`
}

// RootfsInit is the first process of a container.
type RootfsInit string

// The first processes of a container.
const (
	InitNines   RootfsInit = "nines"
	InitSystemd RootfsInit = "systemd"
)

// Mount makes a path of the host visible in the node.
type Mount struct {
	// Source is a path on the host.
	Source string `yaml:"source" json:"source"`
	// Target is an absolute path in the node.
	Target string `yaml:"target" json:"target"`
	// ReadOnly keeps the node from writing there (default false).
	ReadOnly bool `yaml:"read_only,omitempty" json:"read_only,omitempty"`
}

// Route is one route of a node.
type Route struct {
	// To is a network in CIDR form, or "default".
	To string `yaml:"to" json:"to"`
	// Via is the address of the next hop.
	Via string `yaml:"via,omitempty" json:"via,omitempty"`
	// Interface is the node's outgoing interface.
	Interface string `yaml:"interface,omitempty" json:"interface,omitempty"`
}

// App is what a node does with the packets it gets.
type App struct {
	// Kind is one of the apps.
	Kind AppKind `yaml:"kind" json:"kind"`
	// Backend is how the engine reaches the interfaces (default: the traffic's).
	Backend Backend `yaml:"backend,omitempty" json:"backend,omitempty"`
	// IO is how many packets one call moves (default: the traffic's).
	IO IO `yaml:"io,omitempty" json:"io,omitempty"`
	// Wait is what the engine does when there is nothing to do (default: the
	// traffic's).
	Wait Wait `yaml:"wait,omitempty" json:"wait,omitempty"`
	// Work is what a packet takes in the engine besides, in a loop that does nothing: as if it processed packets
	// (default 0).
	Work Duration `yaml:"work,omitempty" json:"work,omitempty"`
	// Leaves is how packets leave a device: what nines must see where they arrive (default: any way, which the
	// result reports).
	Leaves Leaves `yaml:"leaves,omitempty" json:"leaves,omitempty"`
	// Forwarding is who forwards IP in a device's node (default: the kernel where the device leaves packets routed or
	// translated, else nobody, so that the kernel cannot carry packets past the device).
	Forwarding ForwardedBy `yaml:"forwarding,omitempty" json:"forwarding,omitempty"`
	// Dynamic leaves the routes of a node that forwards IP to a routing protocol that runs in it:
	// it has only those of its routes (default: also one to each end of the traffic).
	Dynamic bool `yaml:"dynamic,omitempty" json:"dynamic,omitempty"`
}
