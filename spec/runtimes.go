package spec

// The runtimes; package lab/node has one or more files for each.
const (
	RuntimeNetns Runtime = "netns"
	RuntimeLXC   Runtime = "lxc"
	RuntimeHost  Runtime = "host"
	RuntimeVM    Runtime = "vm"
	RuntimeOCI   Runtime = "oci"
	RuntimePod   Runtime = "pod"
)

// runtimes lists every runtime; the first is the default.
var runtimes = []RuntimeDescriptor{
	{
		Name: RuntimeNetns, Doc: "its own network, mount, pid, uts and ipc namespaces on the host's file system",
		Keys: []string{"memory", "hugepage_limit", "mounts", "devices", "privileged", "allow", "no_new_privileges", "restart", "services"}, Sysctls: SysctlsOfNamespaces, Groups: GroupedByNines,
	},
	{
		Name: RuntimeLXC, Doc: "an LXC system container",
		Keys:    []string{"memory", "hugepage_limit", "mounts", "devices", "privileged", "allow", "no_new_privileges", "restart", "services", "rootfs", "image"},
		Sysctls: SysctlsOfNamespaces, OwnRoot: true, Groups: GroupedByTools, Needs: []string{"lxc"},
	},
	{
		// Only the lab's interfaces are in a network namespace, as they would otherwise mix with
		// the host's.
		Name: RuntimeHost, Doc: "the bare host: its files, processes and users, with its own interfaces",
		Refusals: map[string]Refusal{
			"memory":         {Problem: "a host node has no control group that could limit its memory"},
			"hugepage_limit": {Problem: "a host node has no control group that could limit its hugepages"},
			"mounts":         {Problem: "a host node uses the host's files unchanged"},
			"devices":        {Problem: "processes of a host node may open all devices"},
			"privileged":     {Problem: "processes of a host node already have all of root's rights"},
			"allow":          {Problem: "processes of a host node already have all of root's rights"},
			"restart":        {"a host node is the host itself, which nines cannot stop or start", "end and start the program itself, or use runtime: netns"},
			"services":       {"the programs of a host node belong to the host", "let the host's service manager run it, or use runtime: netns"},
		},
	},
	{
		Name: RuntimeVM, Doc: "a QEMU virtual machine with its own kernel",
		Keys: []string{"memory", "restart", "vm", "image"},
		Refusals: map[string]Refusal{
			"hugepage_limit": {"a virtual machine uses exactly its memory, so it needs no limit", "remove it, and write memory"},
			"mounts":         {"a virtual machine cannot access the host's files", "remove mounts; nines exec copies files: tar c FOLDER | nines exec NODE -- tar x"},
			"devices":        {"a virtual machine has devices of its own", "remove devices; a link of the kinds passthrough and sriov gives it one of the host's"},
			"services":       {"nines keeps no programs in a virtual machine", "start it by exec, in the background and with its output in a file, or use runtime: netns, lxc or oci"},
			"privileged":     {Problem: "in a virtual machine root may do everything, as the kernel is the guest's own"},
			"allow":          {Problem: "in a virtual machine root may do everything, as the kernel is the guest's own"},
			"rootfs":         {"a vm node has a small file system of its own, in memory", "write image for the files of an image"},
		},
		// Enough for Debian's kernel and the engine to start.
		LeastMemory: 192 << 20,
		Sysctls:     SysctlsOfKernel, OwnRoot: true, Guest: true, Needs: []string{"tun", "qemu"},
	},
	{
		Name: RuntimeOCI, Doc: "a container of an OCI image, by runc, crun, podman, Docker or containerd",
		Keys:    []string{"memory", "hugepage_limit", "mounts", "devices", "privileged", "allow", "no_new_privileges", "restart", "services", "image", "driver", "command", "init"},
		Sysctls: SysctlsOfNamespaces, OwnRoot: true, NeedsImage: true, Groups: GroupedByTools, Needs: []string{"overlay"},
		Refusals: map[string]Refusal{
			"rootfs": {"the files of an oci node are its image's", "write image"},
		},
	},
	{
		Name: RuntimePod, Doc: "a pod on a Kubernetes cluster",
		Keys: []string{"memory", "host", "latency"},
		Refusals: map[string]Refusal{
			"cpu_list":    {"the kubelet chooses a pod's CPUs", "write cpus: N; with the static CPU manager the pod gets them exclusively"},
			"memory_node": {"the kubelet chooses where a pod's memory is", "remove memory_node"},
			"scheduling":  {"an engine in a pod may not change its policy", "remove scheduling"},
			"rx":          {"the cluster controls a pod's interface and how it receives", "remove rx"},
			"polling":     {"the cluster controls a pod's interface, so nines cannot poll it", "remove polling"},
			"sysctls":     {"the cluster controls a pod's sysctls", "remove sysctls"},
			"addresses":   {"a pod gets its address from the cluster", "remove addresses"},
			"mac":         {"a pod gets its MAC address from the cluster", "remove mac"},
			"routes":      {"a pod gets its routes from the cluster", "remove routes"},
			"scripts":     {"scripts cannot run in a pod: nines' socket on this host cannot be reached from there", "run them in a netns, lxc, oci or host node"},
			"variables":   {Problem: "variables are for scripts, which cannot run in a pod"},
			"mounts":      {"a pod cannot access this host's files", "put what it needs into the image of cluster"},
			"devices":     {"a pod gets its devices from the cluster", "remove devices"},
			"services":    {"nines starts nothing beside the engine in a pod", "run it in a node with runtime: netns, lxc or oci"},
			"privileged":  {"nines creates pods without privileges", "remove privileged"},
			"allow":       {"nines creates pods without privileges", "remove allow"},
			"restart":     {"the network of a pod belongs to its cluster, and ends with the pod", "use nines apply, which starts a new pod for one that has ended"},
		},
		OwnRoot: true, Remote: true,
	},
}
