// Package vlab is the virtual laboratory: a virtual machine with hardware and kernels that
// the host may lack, for trying experiments and testing nines.
//
//	              QEMU: 4 CPUs, 2 NUMA nodes, an Intel IOMMU
//	┌────────────────────────────────────────────────────────────────┐
//	│ node 0: CPUs 0, 1              node 1: CPUs 2, 3               │
//	│                                 ├─ igb (82576), 7 VFs ─┐       │
//	│ Debian's kernel, cloud, rt      └─ igb (82576), 7 VFs ─┴ cable │
//	└────────────────────────────────────────────────────────────────┘
//
// Each start is a first boot: the guest writes to memory only, which is lost when it stops.
// Files of the host come in on a disk that is made for it.
package vlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/boot"
	"nines.dev/nines/vm/guestimage"
)

// Options are a laboratory's options.
type Options struct {
	// Kernel is one of guestimage.KernelNames, or only a kind; empty means debian.
	Kernel string
	// CommandLine is added to the kernel command line.
	CommandLine []string
	// Cgroup is the layout of the control groups; empty means version 2.
	Cgroup boot.Cgroup
	// Virtio adds two virtio-net cards, connected to each other.
	Virtio bool
	// MemoryMiB is the machine's memory; 0 means DefaultMemoryMiB.
	MemoryMiB int
	// Nice is as in vm.Config.
	Nice int
	// Programs is the folder of nines' programs, which the guest has in its PATH.
	Programs string
	// Copy are files and folders of the host that the guest has at the same paths.
	Copy []string
	// Store has the images.
	Store guestimage.Store
	// Progress is called with a text about what takes time; may be nil.
	Progress func(what string)
}

// DefaultMemoryMiB is enough for labs of some nodes with DPDK.
const DefaultMemoryMiB = 2048

// MinMemoryMiB is what a kernel, its modules and a lab of two nodes need.
const MinMemoryMiB = 512

// Packages are those that the root file system has in addition to Debian's base: what nines
// runs, and tools for looking around; systemd is for containers with it.
var Packages = []string{
	"bridge-utils", "busybox-static", "containerd", "crun", "dbus", "docker.io", "dpdk-dev", "ethtool", "iperf3", "iproute2",
	"iputils-ping", "kmod", "less", "lxc", "nftables", "numactl", "openvswitch-switch-dpdk", "pciutils", "podman", "procps",
	"rt-tests", "runc", "sockperf", "systemd", "tcpdump", "wireguard-go", "wireguard-tools",
}

// ProgramFolder is the guest's folder of nines' programs.
const ProgramFolder = "/opt/nines/bin"

// programs are nines' programs.
var programs = []string{"nines", "nines-disturb", "nines-engine", "nines-guest", "nines-init", "nines-node", "nines-poller", "nines-script"}

// Laboratory is a running laboratory.
type Laboratory struct {
	*vm.Machine
	// Kernel is the running kernel, Choice the accelerator.
	Kernel *guestimage.Kernel
	Choice vm.Choice
	dir    string
}

// Images makes what the laboratory boots from, unless it exists.
func Images(ctx context.Context, store guestimage.Store, kernel string) (*guestimage.Kernel, *guestimage.Root, error) {
	if kernel == "" {
		kernel = "debian"
	}
	k, err := store.Kernel(ctx, kernel)
	if err != nil {
		return nil, nil, err
	}
	root, err := store.Root(ctx, Packages)
	return k, root, err
}

// Start starts a laboratory and returns when it can run commands.
func Start(ctx context.Context, o Options) (*Laboratory, error) {
	kernel, root, err := Images(ctx, o.Store, o.Kernel)
	if err != nil {
		return nil, err
	}
	progress := o.Progress
	if progress == nil {
		progress = func(string) {}
	}
	choice, err := vm.Choose(ctx, kernel.Image, kernel.Initrd, o.Store.Dir)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nines-vlab")
	if err != nil {
		return nil, err
	}
	lab := &Laboratory{Kernel: kernel, Choice: choice, dir: dir}
	disk, binds, err := makeFiles(ctx, dir, kernel.Version, o)
	if err == nil {
		progress(fmt.Sprintf("booting the laboratory: %s (Linux %s), by %s", kernel.Name, kernel.Version, strings.ToUpper(string(choice.Accelerator))))
		err = lab.boot(ctx, Config(o, dir, kernel, root, choice.Accelerator, disk), binds, progress)
	}
	if err != nil {
		return nil, errors.Join(err, lab.Stop())
	}
	return lab, nil
}

// bootPatience limits the last attempt to boot, which takes some seconds, translated a
// minute, on a host whose CPUs all work minutes.
const bootPatience = 4 * time.Minute

// boot starts the machine, again if it does not come up.
func (l *Laboratory) boot(ctx context.Context, config vm.Config, binds [][2]string, progress func(string)) error {
	start := func(ctx context.Context) (err error) {
		if l.Machine, err = vm.Start(ctx, config); err != nil {
			return err
		}
		return errors.Join(l.bind(ctx, binds), l.AwaitTimers(ctx))
	}
	end := func() error {
		m := l.Machine
		l.Machine = nil
		if m == nil {
			return nil
		}
		return m.Stop()
	}
	return vm.BootPatience(config.Accelerator, bootPatience).Boot(ctx, progress, start, end)
}

// AwaitTimers waits until a sleep ends on each CPU. A translated guest with a CPU that has
// lost its timer (vm.Patience) often comes up, but hangs as soon as something sleeps on
// that CPU.
func (l *Laboratory) AwaitTimers(ctx context.Context) (failed error) {
	for cpu := range l.Config().CPU.Count() {
		if _, err := l.Machine.Output(ctx, "taskset", "-c", strconv.Itoa(cpu), "sleep", "0.02"); err != nil {
			failed = errors.Join(failed, fmt.Errorf("a sleep on CPU %d of the laboratory: %w", cpu, err))
		}
	}
	return failed
}

// Stop ends the laboratory, and all that was in it.
func (l *Laboratory) Stop() error {
	var err error
	if l.Machine != nil {
		err = l.Machine.Stop()
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// Config is the laboratory's machine.
func Config(o Options, dir string, kernel *guestimage.Kernel, root *guestimage.Root, accelerator vm.Accelerator, files string) vm.Config {
	cgroup, memory := o.Cgroup, o.MemoryMiB
	if cgroup == "" {
		cgroup = boot.CgroupV2
	}
	if memory == 0 {
		memory = DefaultMemoryMiB
	}
	// On an ordinary host udev loads the driver of VFs when they appear.
	modules := []string{"igbvf", "vfio-pci", "8021q", "tun"}
	nics := []vm.NIC{
		{Model: vm.IGB, Backend: vm.Hub, MAC: "52:54:00:00:01:00", NUMANode: 1},
		{Model: vm.IGB, Backend: vm.Hub, MAC: "52:54:00:00:02:00", NUMANode: 1},
	}
	if o.Virtio {
		modules = append(modules, "virtio_net")
		nics = append(nics,
			vm.NIC{Model: vm.Virtio, Backend: vm.Hub, Hub: 1, MAC: "52:54:00:00:03:00"},
			vm.NIC{Model: vm.Virtio, Backend: vm.Hub, Hub: 1, MAC: "52:54:00:00:04:00"})
	}
	return vm.Config{
		Dir: dir, Kernel: kernel.Image, Initrd: kernel.Initrd, Accelerator: accelerator,
		Boot: boot.Parameters{
			Name: "vlab", Root: "root", Cgroup: cgroup,
			Mounts: []boot.Mount{
				{Name: "modules", Folder: "/lib/modules", Disk: true, ReadOnly: true},
				{Name: "files", Folder: filesFolder, Disk: true},
			},
			Modules: modules,
		},
		Append: o.CommandLine,
		CPU:    vm.CPU{Sockets: 2, Cores: 2},
		Memory: vm.Memory{MiB: memory},
		NUMA:   []vm.NUMANode{{CPUs: []int{0, 1}}, {CPUs: []int{2, 3}}},
		IOMMU:  true,
		Disks: []vm.Disk{
			{Name: "root", Path: root.Disk, ReadOnly: true},
			{Name: "modules", Path: kernel.Modules, ReadOnly: true},
			{Name: "files", Path: files},
		},
		NICs:   nics,
		Agents: 2,
		Nice:   o.Nice,
	}
}

// guestModules is where nines in the guest looks for a built module kbp, its kbp.CacheDir.
// The guest has no compiler.
const guestModules = "/var/cache/nines/kbp"

// Headers returns a kernel's release, and a root file system in which modules can be built
// for it, made if the store does not have it.
func Headers(ctx context.Context, store guestimage.Store, kernel string) (release, root string, err error) {
	k, err := store.Kernel(ctx, kernel)
	if err != nil {
		return "", "", err
	}
	root, err = store.Headers(ctx, k)
	return k.Version, root, err
}

// filesFolder is where the guest mounts the disk with the host's files.
const filesFolder = "/mnt/files"

// makeFiles makes that disk. binds has the folders and files on it and their places in the
// guest.
func makeFiles(ctx context.Context, dir, release string, o Options) (disk string, binds [][2]string, err error) {
	tree := filepath.Join(dir, "files")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	sources := map[string]string{}
	if module, err := kbp.Find(release); err == nil {
		sources[filepath.Join(guestModules, filepath.Base(filepath.Dir(module)), filepath.Base(module))] = module
	}
	for _, name := range programs {
		sources[filepath.Join(ProgramFolder, name)] = filepath.Join(o.Programs, name)
	}
	for _, path := range o.Copy {
		whole, err := filepath.Abs(path)
		if err != nil {
			return "", nil, err
		}
		sources[whole] = whole
	}
	for guest, source := range sources {
		name := fmt.Sprint(len(binds))
		if err := stage(source, filepath.Join(tree, name)); err != nil {
			return "", nil, err
		}
		binds = append(binds, [2]string{filepath.Join(filesFolder, name), guest})
	}
	disk = filepath.Join(dir, "files.ext4")
	return disk, binds, guestimage.MakeDisk(ctx, disk, tree)
}

// bind mounts the files at their places.
func (l *Laboratory) bind(ctx context.Context, binds [][2]string) error {
	const script = `set -e
while [ $# -gt 0 ]; do
	if [ -d "$1" ]; then mkdir -p "$2"; else mkdir -p "${2%/*}"; : >"$2"; fi
	mount --bind "$1" "$2"
	shift 2
done
for program in ` + ProgramFolder + `/*; do ln -s "$program" /usr/local/bin/; done`
	argv := []string{"sh", "-c", script, "bind"}
	for _, b := range binds {
		argv = append(argv, b[0], b[1])
	}
	_, err := l.Output(ctx, argv...)
	return err
}
