package link

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
)

// GiveSockets loads a program onto a device, by the namespace of the calling thread, in which it is. The
// program gives a frame to the AF_XDP socket that the map has for its receive queue, and to the kernel if
// there is none. The map is pinned at path, in a BPF file system: a process that can open it there can receive, with no
// capability but CAP_NET_RAW for the socket. Since Linux 5.19 that holds with kernel.unprivileged_bpf_disabled,
// too (kernel/bpf/syscall.c).
func GiveSockets(device netlink.Link, path string) error {
	sockets, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "xsks_map", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: uint32(max(device.Attrs().NumRxQueues, 1)),
	})
	if err != nil {
		return missingSockets("the kernel makes no map of AF_XDP sockets", err)
	}
	defer sockets.Close()
	program, err := ebpf.NewProgram(givesTo(sockets))
	if err != nil {
		return missingSockets("the kernel does not load the program for AF_XDP sockets", err)
	}
	defer program.Close()
	if err := attachAny(device, program); err != nil {
		return err
	}
	// An earlier device of the same port may have left its map.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := sockets.Pin(path); err != nil {
		return fmt.Errorf("pin the map of AF_XDP sockets at %s: %w", path, err)
	}
	return os.Chmod(path, 0o666) // a pod's user need not be root
}

// attachAny attaches a program in native mode. Drivers without XDP, and those that refuse it for the device's MTU or
// offloads, leave it to the kernel's generic mode, which copies.
func attachAny(device netlink.Link, program *ebpf.Program) error {
	name := device.Attrs().Name
	err := netlink.LinkSetXdpFdWithFlags(device, program.FD(), xdpFlags)
	if err != nil && !errors.Is(err, unix.EBUSY) {
		err = netlink.LinkSetXdpFdWithFlags(device, program.FD(), unix.XDP_FLAGS_SKB_MODE|unix.XDP_FLAGS_UPDATE_IF_NOEXIST)
	}
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s already has an XDP program of another program; take that off (ip link set %s xdp off)", name, name)
	case err != nil:
		return fmt.Errorf("attach the program for AF_XDP sockets to %s: %w; a smaller MTU may help", name, err)
	}
	return nil
}

func missingSockets(reason string, err error) error {
	return exit.Lacking(&exit.MissingError{
		Capability: host.FeatureAFXDP, Reason: reason, Err: err,
		Remedy: "use Linux 5.18 or later with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS, or ports without afXDP",
	})
}

// givesTo is the program:
//
//	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
//
// It takes frames in several buffers, too (xdp.frags).
func givesTo(sockets *ebpf.Map) *ebpf.ProgramSpec {
	const (
		queueAt = 16 // of rx_queue_index in struct xdp_md of include/uapi/linux/bpf.h
		pass    = 2  // XDP_PASS
	)
	return &ebpf.ProgramSpec{
		Name: "to_sockets", Type: ebpf.XDP, License: "Dual BSD/GPL", Flags: unix.BPF_F_XDP_HAS_FRAGS,
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, queueAt, asm.Word),
			asm.LoadMapPtr(asm.R1, sockets.FD()),
			asm.Mov.Imm(asm.R3, pass),
			asm.FnRedirectMap.Call(),
			asm.Return(),
		},
	}
}
