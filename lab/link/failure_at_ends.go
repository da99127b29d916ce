package link

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
)

// CutProgram is the program that drops all that a device receives (xdp/cut.bpf.c). The step of an end
// that is cut by it has this name as its value.
const CutProgram = "nines_cut"

// Cutter cuts ends in nodes by a program that drops what they receive. A device in a node cannot be set
// down instead: its routes would go with it, and its IPv6 addresses.
type Cutter struct{ objects *ebpf.Collection }

// NewCutter loads the program, so that nothing but attaching it takes time when a cut is due.
func NewCutter() (*Cutter, error) {
	objects, err := load("cut", nil)
	if err != nil {
		return nil, err
	}
	return &Cutter{objects}, nil
}

// Close unloads the program. Devices that are still cut keep it.
func (c *Cutter) Close() { c.objects.Close() }

// Set cuts devices in a holder's namespace, or ends that:
//
//	ip link set IF xdpgeneric object cut.bpf.o section xdp
//	ip link set IF xdpgeneric off
func (c *Cutter) Set(h Holder, names []string, cut bool) error {
	return inside(h, func(ns *netns.Namespace, handle *netlink.Handle) error {
		for _, name := range names {
			device, err := handle.LinkByName(name)
			if err != nil {
				return fmt.Errorf("find %s: %w", name, err)
			}
			if cut {
				err = ns.Do(func() error { return c.attach(device) })
			} else {
				err = ns.Do(func() error { return uncut(device) })
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Cutter) attach(device netlink.Link) error {
	program := c.objects.Programs[CutProgram]
	err := netlink.LinkSetXdpFdWithFlags(device, program.FD(), unix.XDP_FLAGS_SKB_MODE|unix.XDP_FLAGS_UPDATE_IF_NOEXIST)
	switch name := device.Attrs().Name; {
	// dev_xdp_attach in net/core/dev.c
	case errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%s has an XDP program, and the kernel takes no second one to drop its packets; remove it, or use kind: switch: %w", name, err)
	case err != nil:
		return fmt.Errorf("attach a program that drops the packets of %s: %w", name, err)
	}
	return nil
}

// uncut detaches the program from a device, and no other. The caller is in the device's namespace.
func uncut(device netlink.Link) error {
	on := device.Attrs().Xdp
	program, err := attached(on)
	if err != nil {
		return fmt.Errorf("read the XDP program of %s: %w", device.Attrs().Name, err)
	}
	if program == nil || program.Name != CutProgram || on.AttachMode != nl.XDP_ATTACHED_SKB {
		return nil
	}
	if err := netlink.LinkSetXdpFdWithFlags(device, -1, unix.XDP_FLAGS_SKB_MODE); err != nil {
		return fmt.Errorf("detach the program that drops the packets of %s: %w", device.Attrs().Name, err)
	}
	return nil
}

// IndexOf is the interface index of a device in a holder's namespace.
func IndexOf(h Holder, name string) (index int, err error) {
	err = inside(h, func(_ *netns.Namespace, handle *netlink.Handle) error {
		device, err := handle.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		index = device.Attrs().Index
		return nil
	})
	return index, err
}
