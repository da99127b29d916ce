package node

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/plan"
)

// capability is one of capabilities(7): the kernel's number, and LXC's name for it.
type capability struct {
	number uint
	name   string
}

// kept are the capabilities of every node. The engine needs net_raw and net_admin for its sockets,
// bpf and net_admin for its XDP programs, ipc_lock and sys_resource for the memory that it locks,
// sys_nice for its policy. Without perfmon the kernel would check and guard XDP programs as those
// of any user (bypass_spec_v1 in include/linux/bpf.h), and they would be slower than the same
// program on the host. The others are what programs of root expect, and end in the node's own
// namespaces and files.
var kept = []capability{
	{unix.CAP_CHOWN, "chown"}, {unix.CAP_DAC_OVERRIDE, "dac_override"}, {unix.CAP_FOWNER, "fowner"},
	{unix.CAP_FSETID, "fsetid"}, {unix.CAP_KILL, "kill"}, {unix.CAP_SETGID, "setgid"}, {unix.CAP_SETUID, "setuid"},
	{unix.CAP_SETPCAP, "setpcap"}, {unix.CAP_NET_BIND_SERVICE, "net_bind_service"},
	{unix.CAP_NET_BROADCAST, "net_broadcast"}, {unix.CAP_NET_ADMIN, "net_admin"}, {unix.CAP_NET_RAW, "net_raw"},
	{unix.CAP_IPC_LOCK, "ipc_lock"}, {unix.CAP_IPC_OWNER, "ipc_owner"}, {unix.CAP_SYS_CHROOT, "sys_chroot"},
	{unix.CAP_SYS_PTRACE, "sys_ptrace"}, {unix.CAP_SYS_NICE, "sys_nice"}, {unix.CAP_SYS_RESOURCE, "sys_resource"},
	{unix.CAP_AUDIT_WRITE, "audit_write"}, {unix.CAP_PERFMON, "perfmon"}, {unix.CAP_BPF, "bpf"},
}

// keptWithOwnRoot are for nodes whose files are their own: packages that are installed there make
// device nodes and give programs capabilities. In the host's files they would be the host's.
var keptWithOwnRoot = []capability{
	{unix.CAP_MKNOD, "mknod"}, {unix.CAP_LEASE, "lease"}, {unix.CAP_SETFCAP, "setfcap"},
}

// keptBySystemd are what systemd needs to start services: it mounts, and it tells the kernel's
// audit who has logged in.
var keptBySystemd = []capability{
	{unix.CAP_SYS_ADMIN, "sys_admin"}, {unix.CAP_SYS_TTY_CONFIG, "sys_tty_config"}, {unix.CAP_AUDIT_CONTROL, "audit_control"},
}

// keptForMaps are for DPDK's af_xdp driver: libxdp finds the programs and maps of an interface by
// their ids, which the kernel allows only with sys_admin (bpf_prog_get_fd_by_id in
// kernel/bpf/syscall.c).
var keptForMaps = []capability{{unix.CAP_SYS_ADMIN, "sys_admin"}}

// keptForPhysicalMemory are for devices that no IOMMU translates for. A program has to tell them
// physical addresses, which /proc/self/pagemap shows only with sys_admin
// (Documentation/admin-guide/mm/pagemap.rst), and opens their files only with sys_rawio
// (drivers/vfio/group.c).
var keptForPhysicalMemory = []capability{{unix.CAP_SYS_ADMIN, "sys_admin"}, {unix.CAP_SYS_RAWIO, "sys_rawio"}}

// Walls keep a node's processes from the host. They are around its first process, and commands that
// enter the node get the same (programs/nines-init/walls.c).
type Walls struct {
	// Privileged is true where there are none.
	Privileged bool
	// Capabilities are all that processes of the node can have, by LXC's names.
	Capabilities []string
	// WritableSysfs is true for a node that drives a device by UIO, whose PCI configuration
	// registers are files of /sys (uio_pci_generic.rst).
	WritableSysfs bool
	mask          uint64
}

// WallsOf returns the walls of a node. It is pure.
func WallsOf(n plan.Node) Walls {
	if n.Privileged {
		return Walls{Privileged: true}
	}
	w := Walls{}
	w.keep(kept)
	if n.Runtime.Descriptor().OwnRoot {
		w.keep(keptWithOwnRoot)
	}
	if usesSystemd(n) {
		w.keep(keptBySystemd)
	}
	for _, i := range n.Interfaces {
		if d := i.Device; d != nil && strings.HasPrefix(cmp.Or(d.Driver, d.Arguments), "net_af_xdp") {
			w.keep(keptForMaps)
		}
	}
	for _, file := range n.Devices {
		uio := strings.HasPrefix(file, "/dev/uio")
		if uio || strings.HasPrefix(file, "/dev/vfio/noiommu-") {
			w.keep(keptForPhysicalMemory)
		}
		w.WritableSysfs = w.WritableSysfs || uio
	}
	slices.Sort(w.Capabilities)
	w.Capabilities = slices.Compact(w.Capabilities)
	return w
}

func (w *Walls) keep(list []capability) {
	for _, c := range list {
		w.Capabilities = append(w.Capabilities, c.name)
		w.mask |= 1 << c.number
	}
}

// arguments are the walls as nines-init takes them for the first process of a netns node.
func (w Walls) arguments() []string {
	if w.Privileged {
		return nil
	}
	return []string{"walls", fmt.Sprintf("%x", w.mask), w.sysfs()}
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

// lxcWalls are the walls in a container's configuration; profile is the file of its seccomp
// profile.
func (w Walls) lxcWalls(set func(string, string, ...any), profile string) {
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
	for _, folder := range maskedFolders {
		set("lxc.mount.entry", "tmpfs %s tmpfs ro,nosuid,nodev,noexec,size=4k,optional 0 0", strings.TrimPrefix(folder, "/"))
	}
}

// filters is there where the kernel has seccomp's filters, seccomp(2).
const filters = "/proc/sys/kernel/seccomp/actions_avail"

// refuses is true if the kernel can refuse system calls.
func refuses() bool {
	_, err := os.Stat(filters)
	return err == nil
}

// writeProfile writes the system calls that a container is refused, in LXC's format, below dir. It
// returns the file's path, empty where the kernel cannot refuse any.
func (p Place) writeProfile(dir string) (string, error) {
	if !refuses() {
		return "", nil
	}
	text, err := exec.Command(p.InitPath, "seccomp").Output()
	if err != nil {
		return "", fmt.Errorf("%s seccomp: %w", p.InitPath, err)
	}
	path := filepath.Join(dir, "seccomp")
	return path, os.WriteFile(path, text, 0o644)
}
