package link

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// A shared management network leaves the host's interface as it is. A bridge over it, as HVNet has one,
// would have to take its addresses, routes and DHCP lease: a process that is killed in the middle of that leaves a host
// that cannot be reached, so that no one can undo it, and the host's network manager may do the same at
// any time. Instead the pair between the fabric's bridge and the host
//
//   - is a port of the uplink, where that is a bridge: ip link set DEVICE master UPLINK
//   - else is joined to it by programs at both (tc/uplink.bpf.c), and the uplink receives for the
//     nodes' addresses, too: bridge fdb add MAC dev UPLINK self
//
// Whatever goes wrong there is at the nodes' cost, not at the host's.

// checkShared checks what a shared network needs before anything is made.
func checkShared(m *plan.Management) error {
	err := onHost(func(handle *netlink.Handle) error {
		uplink, err := checkUplink(handle, m)
		if err == nil && !m.Uplink.Bridge {
			_, err = hasHooks(handle, uplink)
		}
		return err
	})
	if err != nil || m.Uplink.Bridge {
		return err
	}
	return tryHooks()
}

// shareUplink joins the pair's end on the host, Device, to the uplink, for the given endpoints.
func (s *Site) shareUplink(l plan.Link, endpoints []plan.Endpoint) error {
	m := s.Plan.Management
	ns, err := netns.Current()
	if err != nil {
		return err
	}
	defer ns.Close()
	return onHost(func(handle *netlink.Handle) error {
		uplink, err := checkUplink(handle, m)
		if err != nil {
			return err
		}
		device, err := handle.LinkByName(m.Device)
		if err != nil {
			return fmt.Errorf("find %s: %w", m.Device, err)
		}
		if m.Uplink.Bridge {
			if err := keepAddress(handle, uplink); err != nil {
				return err
			}
			if err := handle.LinkSetMaster(device, uplink); err != nil {
				return fmt.Errorf("make %s a port of %s: %w", m.Device, m.Uplink.Name, err)
			}
			return handle.LinkSetUp(device)
		}
		// The host has no business there, also where the programs are missing.
		if err := handle.LinkSetARPOff(device); err != nil {
			return fmt.Errorf("set ARP off at %s: %w", m.Device, err)
		}
		cookie, err := ns.Cookie()
		if err != nil {
			return err
		}
		step := journal.Step{
			Link: l.Name, Name: m.Uplink.Name, Old: strconv.Itoa(uplink.Attrs().Index), Path: ns.Path(), Cookie: cookie,
		}
		if err := s.putPrograms(handle, step, uplink, device); err != nil {
			return err
		}
		if err := s.receiveFor(handle, step, uplink, endpoints); err != nil {
			return err
		}
		if err := handle.LinkSetUp(device); err != nil {
			return fmt.Errorf("set %s up: %w", m.Device, err)
		}
		return nil
	})
}

// keepAddress fixes the MAC address of a bridge without ports: it would take that of its first one, Device, and zeros
// when that leaves (br_stp_recalculate_bridge_id in net/bridge/br_stp_if.c). Of several ports the kernel takes the lowest
// address, which is never Device's. A bridge whose address is fixed cannot be told from another afterwards, and keeps it.
//
//	ip link set UPLINK address ITS_OWN
func keepAddress(handle *netlink.Handle, uplink netlink.Link) error {
	devices, err := netns.Whole(handle.LinkList)
	if err != nil {
		return fmt.Errorf("list the ports of %s: %w", uplink.Attrs().Name, err)
	}
	for _, d := range devices {
		if d.Attrs().MasterIndex == uplink.Attrs().Index {
			return nil
		}
	}
	if err := handle.LinkSetHardwareAddr(uplink, uplink.Attrs().HardwareAddr); err != nil {
		return fmt.Errorf("fix the MAC address of %s: %w", uplink.Attrs().Name, err)
	}
	return nil
}

// withUplink calls f with the uplink of a step, if its network namespace and the device are still there.
func withUplink(u journal.Undoing, f func(*netlink.Handle, netlink.Link) error) error {
	ns, err := netns.Find(u.Path, u.Cookie)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	index, err := strconv.Atoi(u.Old)
	if err != nil {
		return fmt.Errorf("the journal has the interface index %q: %w", u.Old, err)
	}
	uplink, err := handle.LinkByIndex(index) // its name may have changed
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", u.Name, err)
	}
	return f(handle, uplink)
}

// isAbsent is true for the errors of the kernel for what is not there.
func isAbsent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ESRCH)
}
