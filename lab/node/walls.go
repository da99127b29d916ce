package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// capability is one of capabilities(7): the kernel's number, and LXC's name for it.
type capability struct {
	number uint
	name   string
}

// ofPrograms are the capabilities of a node's programs: those that Docker gives a container
// (https://docs.docker.com/engine/containers/run/#runtime-privilege-and-linux-capabilities), and net_admin, which
// ends in the node's own network. Those of ofProgramsWithOwnRoot are for nodes whose files are their own: in the
// host's files, device nodes and the rights of programs would be the host's.
var (
	ofPrograms = []capability{
		{unix.CAP_CHOWN, "chown"}, {unix.CAP_DAC_OVERRIDE, "dac_override"}, {unix.CAP_FOWNER, "fowner"},
		{unix.CAP_FSETID, "fsetid"}, {unix.CAP_KILL, "kill"}, {unix.CAP_SETGID, "setgid"}, {unix.CAP_SETUID, "setuid"},
		{unix.CAP_SETPCAP, "setpcap"}, {unix.CAP_NET_BIND_SERVICE, "net_bind_service"}, {unix.CAP_NET_ADMIN, "net_admin"},
		{unix.CAP_NET_RAW, "net_raw"}, {unix.CAP_SYS_CHROOT, "sys_chroot"}, {unix.CAP_AUDIT_WRITE, "audit_write"},
	}
	ofProgramsWithOwnRoot = []capability{{unix.CAP_MKNOD, "mknod"}, {unix.CAP_SETFCAP, "setfcap"}}
)

// ofSystemd are what systemd needs to start services: it mounts, gives them policies, limits and capabilities
// (systemd-networkd asks for net_broadcast), and tells the kernel's audit who has logged in.
var ofSystemd = []capability{
	{unix.CAP_SYS_ADMIN, "sys_admin"}, {unix.CAP_SYS_TTY_CONFIG, "sys_tty_config"}, {unix.CAP_AUDIT_CONTROL, "audit_control"},
	{unix.CAP_SYS_NICE, "sys_nice"}, {unix.CAP_SYS_RESOURCE, "sys_resource"}, {unix.CAP_NET_BROADCAST, "net_broadcast"},
}

// ofEngine are those of nines' engine. It needs net_raw and net_admin for its sockets, bpf and
// net_admin for its XDP programs, ipc_lock and sys_resource for the memory that it locks,
// sys_nice for its policy. Without perfmon the kernel would check and guard XDP programs as those
// of any user (bypass_spec_v1 in include/linux/bpf.h), and they would be slower than the same
// program on the host.
var ofEngine = []capability{
	{unix.CAP_DAC_OVERRIDE, "dac_override"}, {unix.CAP_NET_BIND_SERVICE, "net_bind_service"}, {unix.CAP_NET_ADMIN, "net_admin"},
	{unix.CAP_NET_RAW, "net_raw"}, {unix.CAP_IPC_LOCK, "ipc_lock"}, {unix.CAP_SYS_NICE, "sys_nice"},
	{unix.CAP_SYS_RESOURCE, "sys_resource"}, {unix.CAP_PERFMON, "perfmon"}, {unix.CAP_BPF, "bpf"},
}

// ofAllowances are what a file may allow a node's programs. What dpdk needs depends on the node's devices, too.
var ofAllowances = map[spec.Allowance][]capability{
	spec.AllowBPF:  {{unix.CAP_BPF, "bpf"}},
	spec.AllowPerf: {{unix.CAP_PERFMON, "perfmon"}},
	spec.AllowDPDK: {{unix.CAP_IPC_LOCK, "ipc_lock"}, {unix.CAP_SYS_NICE, "sys_nice"}},
}

// ofMaps is for DPDK's af_xdp driver: libxdp finds the programs and maps of an interface by
// their ids, which the kernel allows only with sys_admin (bpf_prog_get_fd_by_id in
// kernel/bpf/syscall.c).
var ofMaps = []capability{{unix.CAP_SYS_ADMIN, "sys_admin"}}

// ofPhysicalMemory are for devices that no IOMMU translates for. A program has to tell them
// physical addresses, which /proc/self/pagemap shows only with sys_admin
// (Documentation/admin-guide/mm/pagemap.rst), and opens their files only with sys_rawio
// (drivers/vfio/group.c).
var ofPhysicalMemory = []capability{{unix.CAP_SYS_ADMIN, "sys_admin"}, {unix.CAP_SYS_RAWIO, "sys_rawio"}}

// Walls keep a node's programs from the host. They are around its first process, and commands that
// enter the node get the same (programs/nines-init/walls.c). The engine has rights of its own: the node's
// programs cannot take it over, as ptrace(2) wants all rights of whom it traces.
type Walls struct {
	// Privileged is true where there are none.
	Privileged bool
	// Capabilities are all that programs of the node can have, by LXC's names.
	Capabilities []string
	// WritableSysfs is true for a node that drives a device by UIO, whose PCI configuration
	// registers are files of /sys (uio_pci_generic.rst).
	WritableSysfs bool
	// NoNewPrivileges is true where programs gain no rights when they start.
	NoNewPrivileges bool
	// IOUring is true where programs may use io_uring.
	IOUring bool
	// Files is true for a node with files of its own. Only there system calls are refused, and files of the
	// kernel masked: elsewhere the host's files give away as much.
	Files bool

	mask, engine uint64
}

// WallsOf returns the walls of a node. It is pure.
func WallsOf(n plan.Node) Walls {
	if n.Privileged {
		return Walls{Privileged: true, NoNewPrivileges: n.NoNewPrivileges}
	}
	w := Walls{NoNewPrivileges: n.NoNewPrivileges, Files: n.Runtime.Descriptor().OwnRoot, IOUring: slices.Contains(n.Allow, spec.AllowIOUring)}
	w.keep(ofPrograms)
	if w.Files {
		w.keep(ofProgramsWithOwnRoot)
	}
	if UsesSystemd(n) {
		w.keep(ofSystemd)
	}
	devices := ofDevices(n)
	for _, right := range n.Allow {
		w.keep(ofAllowances[right])
		if right == spec.AllowDPDK {
			w.keep(devices)
		}
	}
	w.engine = maskOf(ofEngine) | maskOf(devices)
	w.WritableSysfs = slices.ContainsFunc(n.Devices, isUIO)
	slices.Sort(w.Capabilities)
	w.Capabilities = slices.Compact(w.Capabilities)
	return w
}

// withDevices is a node with the device nodes of its functions, which a plan does not know: they appear when a driver
// takes the functions.
func withDevices(n plan.Node, bus pci.Bus) plan.Node {
	n.Devices = slices.Clip(n.Devices)
	for _, address := range n.Functions {
		n.Devices = append(n.Devices, bus.FileNames(address)...)
	}
	return n
}

func isUIO(file string) bool { return strings.HasPrefix(file, "/dev/uio") }

// ofDevices are what a program needs to drive a node's devices.
func ofDevices(n plan.Node) []capability {
	var list []capability
	for _, i := range n.Interfaces {
		if d := i.Device; d != nil && strings.HasPrefix(cmp.Or(d.Driver, d.Arguments), "net_af_xdp") {
			list = append(list, ofMaps...)
		}
	}
	for _, file := range n.Devices {
		if isUIO(file) || strings.HasPrefix(file, "/dev/vfio/noiommu-") {
			list = append(list, ofPhysicalMemory...)
		}
	}
	return list
}

func maskOf(list []capability) (mask uint64) {
	for _, c := range list {
		mask |= 1 << c.number
	}
	return mask
}

func (w *Walls) keep(list []capability) {
	for _, c := range list {
		w.Capabilities = append(w.Capabilities, c.name)
	}
	w.mask |= maskOf(list)
}

// arguments are the walls as nines-init takes them for the first process of a netns node.
func (w Walls) arguments() []string {
	if w.Privileged && !w.NoNewPrivileges {
		return nil
	}
	mask, sysfs := w.mask, w.sysfs()
	if w.Privileged {
		mask, sysfs = ^uint64(0), "all"
	}
	return []string{"walls", fmt.Sprintf("%x", mask), sysfs, map[bool]string{true: "keep", false: "gain"}[w.NoNewPrivileges]}
}

// sysfs says how the node has /sys, in a word of nines-init.
func (w Walls) sysfs() string {
	if w.WritableSysfs {
		return "rw"
	}
	return "ro"
}

// maskedFolders show what the kernel does to any program that may trace it, and can change that. A file
// system that a container mounts itself is one that systemd mounts.
var maskedFolders = []string{"/sys/kernel/debug", "/sys/kernel/tracing"}

// These files of the kernel tell a container of the host's hardware, keys and other programs: the ones that
// Docker masks and makes read-only (DefaultPaths in moby's daemon/pkg/oci/defaults.go). Without /proc/interrupts, which
// later versions mask: experiments count interrupts in nodes.
var (
	maskedInProc   = []string{"/proc/acpi", "/proc/asound", "/proc/scsi"}
	maskedFiles    = []string{"/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/timer_list", "/proc/timer_stats"}
	maskedInSys    = []string{"/sys/devices/virtual/powercap", "/sys/firmware"}
	readOnlyInProc = []string{"/proc/bus", "/proc/fs", "/proc/irq"}
)

// lxcWalls are the walls in a container's configuration; profile is the file of its seccomp
// profile.
func (w Walls) lxcWalls(set func(string, string, ...any), profile string) {
	if w.NoNewPrivileges {
		set("lxc.no_new_privs", "1")
	}
	if w.Privileged {
		set("lxc.mount.auto", "proc:rw sys:rw")
		return
	}
	set("lxc.cap.keep", "%s", strings.Join(w.Capabilities, " "))
	if profile != "" {
		set("lxc.seccomp.profile", "%s", profile)
	}
	if w.WritableSysfs {
		set("lxc.mount.auto", "proc:mixed sys:rw")
	} else {
		set("lxc.mount.auto", "proc:mixed sys:mixed")
	}
	mount := func(format, path string) {
		set("lxc.mount.entry", format, strings.TrimPrefix(path, "/"))
	}
	for _, folder := range slices.Concat(maskedFolders, maskedInProc, maskedInSys) {
		mount("tmpfs %s tmpfs ro,nosuid,nodev,noexec,size=4k,optional 0 0", folder)
	}
	for _, file := range maskedFiles {
		mount("/dev/null %s none bind,optional 0 0", file)
	}
	for _, folder := range readOnlyInProc {
		set("lxc.mount.entry", "%s %s none bind,ro,optional 0 0", folder, strings.TrimPrefix(folder, "/"))
	}
}
