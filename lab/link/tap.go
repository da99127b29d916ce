package link

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// tapFlags: frames without tun's own header, but with virtio's, which QEMU and vhost-net pass to a
// guest.
const tapFlags = unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR

// openTap opens a tap device of the namespace, and makes it if it does not exist. It disappears
// when its descriptor is closed, unless stay is set.
func openTap(ns *netns.Namespace, name string, stay bool) (*os.File, error) {
	var f *os.File
	err := ns.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return exit.Lacking(&exit.MissingError{
				Capability: host.FeatureTun, Reason: "/dev/net/tun cannot be opened, which a virtual machine's interfaces need", Err: err,
				Remedy: "modprobe tun, or use another runtime than vm",
			})
		}
		f = os.NewFile(uintptr(fd), name)
		request, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		request.SetUint16(tapFlags)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return os.NewSyscallError("TUNSETIFF", err)
		}
		if stay {
			return os.NewSyscallError("TUNSETPERSIST", unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1))
		}
		return nil
	})
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return nil, fmt.Errorf("open the tap %s: %w", name, err)
	}
	return f, nil
}

// addTap makes the tap device of a virtual machine's interface:
//
//	ip tuntap add NAME mode tap vnet_hdr
//	ip link set NAME address MAC mtu M txqueuelen L master MASTER
//
// It is persistent, so that the links can be made before the machine that attaches to them.
func (s *Site) addTap(handle *netlink.Handle, step journal.Step, tap end, mtu, master int) error {
	ns, err := netns.OfProcess(tap.holder.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	step.Kind, step.Name, step.Holder = KindLink, tap.name, tap.holder.Step
	return s.Journal.Make(step, func() (journal.Learnt, error) {
		f, err := openTap(ns, tap.name, true)
		if err != nil {
			return journal.Learnt{}, err
		}
		_ = f.Close()
		device, err := handle.LinkByName(tap.name)
		if err != nil {
			return journal.Learnt{}, fmt.Errorf("find %s: %w", tap.name, err)
		}
		return journal.Learnt{Index: device.Attrs().Index}, setUpTap(handle, device, tap.mac, mtu, master)
	})
}

func setUpTap(handle *netlink.Handle, device netlink.Link, mac string, mtu, master int) error {
	name := device.Attrs().Name
	if mac != "" {
		address, err := net.ParseMAC(mac)
		if err != nil {
			return err
		}
		if err := handle.LinkSetHardwareAddr(device, address); err != nil {
			return fmt.Errorf("set the address of %s: %w", name, err)
		}
	}
	if err := handle.LinkSetMTU(device, mtu); err != nil {
		return fmt.Errorf("set the MTU of %s to %d: %w", name, mtu, err)
	}
	if err := handle.LinkSetTxQLen(device, txQueueLen); err != nil {
		return fmt.Errorf("set the queue of %s: %w", name, err)
	}
	if master == 0 {
		return nil
	}
	if err := handle.LinkSetMasterByIndex(device, master); err != nil {
		return fmt.Errorf("put %s into its bridge: %w", name, err)
	}
	return nil
}

// makeGuestVeth joins a node and a virtual machine. A tap is itself a pair: the node has one side
// as its interface, QEMU the other.
func makeGuestVeth(_ context.Context, s *Site, l plan.Link, guest, peer plan.Endpoint) error {
	tap, err := s.nodeEnd(peer)
	if err != nil {
		return err
	}
	step := journal.Step{Link: l.Name, Node: guest.Node}
	return inside(tap.holder, func(_ *netns.Namespace, handle *netlink.Handle) error {
		return s.addTap(handle, step, tap, l.MTU, 0)
	})
}

// OpenTap opens the tap of a virtual machine's endpoint for QEMU; nil for an endpoint
// that has none.
func (s *Site) OpenTap(l plan.Link, e plan.Endpoint) (*os.File, error) {
	holder, name := s.FabricsOf(l)[0], e.FabricDevice
	if peer := peerOf(l, e); name == "" && e.Attach == "" && peer != nil {
		var err error
		if holder, err = s.node(peer.Node); err != nil {
			return nil, err
		}
		name = peer.Interface
	}
	if name == "" {
		return nil, nil
	}
	ns, err := netns.OfProcess(holder.PID)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	return openTap(ns, name, false)
}

// peerOf is the other end of a veth link.
func peerOf(l plan.Link, e plan.Endpoint) *plan.Endpoint {
	if len(l.Endpoints) != 2 {
		return nil
	}
	for i, other := range l.Endpoints {
		if other.Node != e.Node || other.Interface != e.Interface {
			return &l.Endpoints[i]
		}
	}
	return nil
}
