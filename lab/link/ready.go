package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// readyTimeout bounds the wait for devices to become operational; the kernel's worker needs
// milliseconds, or a second with many devices. A NIC needs seconds to negotiate a speed with the
// other end.
const readyTimeout = 30 * time.Second

// AwaitReady returns when every device in a holder's namespace that is up can send, from all of its addresses.
//
// A veth has a carrier as soon as both its ends are up, but a worker (linkwatch) makes it
// operational a moment later: only then does its queue stop dropping packets (dev_activate in
// net/sched/sch_generic.c), and a bridge enables its port.
func AwaitReady(ctx context.Context, h Holder) error {
	return inside(h, func(_ *netns.Namespace, handle *netlink.Handle) error {
		if err := untilReady(ctx, handle, "lo", notReady); err != nil {
			return err
		}
		return await.Until(ctx, await.Condition{
			What: "the kernel has found all IPv6 addresses unique", Within: readyTimeout, Every: 10 * time.Millisecond, UpTo: 100 * time.Millisecond,
			Holds: func(context.Context) error { return tentative(handle) },
		})
	})
}

// tentative names an IPv6 address that cannot be used yet, as duplicate address detection is under way (RFC 4862, 5.4).
// Addresses of the plan have none, nor has what the kernel adds, unless the file's sysctls ask for it.
func tentative(handle *netlink.Handle) error {
	addresses, err := netns.Whole(func() ([]netlink.Addr, error) { return handle.AddrList(nil, unix.AF_INET6) })
	if err != nil {
		return await.Never(fmt.Errorf("list IPv6 addresses: %w", err))
	}
	for _, a := range addresses {
		if a.Flags&unix.IFA_F_TENTATIVE == 0 || a.Flags&unix.IFA_F_OPTIMISTIC != 0 {
			continue
		}
		device, err := handle.LinkByIndex(a.LinkIndex)
		switch {
		case err != nil || !isReady(device) || device.Attrs().Flags&net.FlagUp == 0: // it waits for a carrier
		case a.Flags&unix.IFA_F_DADFAILED != 0:
			return await.Never(fmt.Errorf("%s of %s is also the address of another machine on its link, as duplicate address detection found", a.IP, device.Attrs().Name))
		default:
			return fmt.Errorf("%s of %s is not", a.IP, device.Attrs().Name)
		}
	}
	return nil
}

// AwaitHostEnd does the same for the host's end of a management network.
func AwaitHostEnd(ctx context.Context, m *plan.Management) error {
	return onHost(func(handle *netlink.Handle) error {
		return untilReady(ctx, handle, m.Device, func(handle *netlink.Handle) (string, error) {
			device, err := handle.LinkByName(m.Device)
			if err != nil {
				return "", fmt.Errorf("find %s: %w", m.Device, err)
			}
			if isReady(device) {
				return "", nil
			}
			return m.Device, nil
		})
	})
}

// untilReady returns when no device is left that waiting names. The device up is set up, and is.
func untilReady(ctx context.Context, handle *netlink.Handle, up string, waiting func(*netlink.Handle) (string, error)) error {
	last := ""
	err := await.Until(ctx, await.Condition{
		What: "all devices can send", Within: readyTimeout, Every: 200 * time.Microsecond, UpTo: 10 * time.Millisecond,
		Holds: func(context.Context) error {
			name, err := waiting(handle)
			if err != nil || name == "" {
				return await.Never(err)
			}
			last = name
			return fmt.Errorf("%s cannot", name)
		},
	})
	if err != nil {
		return notInTime(handle, last, err)
	}
	// The worker changes the state first and tells the bridge after, both under the lock that
	// this call takes: when it returns, the bridge knows.
	device, err := handle.LinkByName(up)
	if err != nil {
		return fmt.Errorf("find %s: %w", up, err)
	}
	return handle.LinkSetUp(device)
}

// notInTime says why a device is not ready; a hardware device has no carrier from the other end of
// its cable.
func notInTime(handle *netlink.Handle, waiting string, err error) error {
	device, found := handle.LinkByName(waiting)
	if errors.Is(err, context.DeadlineExceeded) && found == nil && device.Type() == "device" {
		return &exit.MissingError{
			Capability: "a carrier of " + waiting, Reason: fmt.Sprintf("it is up, but had no carrier for %v", readyTimeout),
			Remedy: "plug the cable in at both ends, and set the port at its other end up",
		}
	}
	return err
}

// notReady names a device that will get a carrier but is not operational yet.
//
// Asking for a single device, unlike listing all, makes the kernel update its state at once
// (rtnl_getlink calls linkwatch_sync_dev, from Linux 6.10); on older kernels the worker may take a
// second.
func notReady(handle *netlink.Handle) (string, error) {
	devices, err := netns.Whole(handle.LinkList)
	if err != nil {
		return "", fmt.Errorf("list devices: %w", err)
	}
	for _, d := range devices {
		// A tap that is down belongs to a program that does not use it.
		tap := d.Type() == "tuntap" && d.Attrs().Flags&net.FlagUp != 0
		// A device without a type is hardware or the loopback.
		hardware := d.Type() == "device" && d.Attrs().Flags&net.FlagLoopback == 0 && d.Attrs().Flags&net.FlagUp != 0
		if d.Type() != "veth" && d.Type() != "macvlan" && !tap && !hardware || isReady(d) {
			continue
		}
		if d, err = handle.LinkByIndex(d.Attrs().Index); err != nil {
			return "", fmt.Errorf("read the state of a device: %w", err)
		}
		if !isReady(d) {
			return d.Attrs().Name, nil
		}
	}
	return "", nil
}

func isReady(d netlink.Link) bool {
	state := d.Attrs().OperState
	return state == netlink.OperUp || state == netlink.OperUnknown
}
