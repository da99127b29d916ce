package link

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// KindUplinkAddress is a MAC address of a node, Value, that an interface of the host, Name, also receives
// for. The interface, and the programs there, are found as those of KindUplink. A card that can tell only a
// few addresses from the rest then receives everything. Undo takes the address from the programs, too:
// another machine may get it.
var KindUplinkAddress = journal.Register("uplink address", journal.Undo{
	Step: forgetAddress, Lost: "addresses of nodes for which an interface of the host still receives (bridge fdb)",
})

// receiveFor lets the uplink receive what is for the nodes of endpoints:
//
//	bridge fdb add MAC dev UPLINK self permanent
func (s *Site) receiveFor(handle *netlink.Handle, step journal.Step, uplink netlink.Link, endpoints []plan.Endpoint) error {
	has, err := receivedAddresses(handle, uplink)
	if err != nil {
		return err
	}
	type received struct {
		value, old string
		cookie     uint64
	}
	own := map[received]bool{}
	for _, e := range s.Journal.Entries() {
		if e.Kind == KindUplinkAddress {
			own[received{e.Value, e.Old, e.Cookie}] = true
		}
	}
	for _, e := range endpoints {
		i, err := s.interfaceOf(e)
		if err != nil {
			return err
		}
		mac, err := net.ParseMAC(i.MAC)
		if err != nil {
			return err
		}
		step.Kind, step.Node, step.Value, step.Token = KindUplinkAddress, e.Node, mac.String(), UplinkToken(s.Journal.Header)
		mine := own[received{step.Value, step.Old, step.Cookie}]
		switch {
		case mine && has[step.Value]:
			continue
		case has[step.Value]:
			return exit.Wrongf("%s already receives for the MAC address %s of node %s, so another lab has it; write mac: plan, or set another prefix in the file (--set prefix=…)", step.Name, mac, e.Node)
		}
		add := func() error {
			if err := handle.NeighAdd(stationOf(uplink, mac)); err != nil {
				return fmt.Errorf("let %s receive for %s, the MAC address of node %s: %w", step.Name, mac, e.Node, err)
			}
			return nil
		}
		if mine { // someone has removed it
			err = add()
		} else {
			err = s.Journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, add() })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stationOf is an address that a device receives for beside its own (dev_uc_add in
// net/core/dev_addr_lists.c), as netlink has it.
func stationOf(device netlink.Link, mac net.HardwareAddr) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex: device.Attrs().Index, Family: unix.AF_BRIDGE, State: unix.NUD_PERMANENT, Flags: unix.NTF_SELF, HardwareAddr: mac,
	}
}

// receivedAddresses are the MAC addresses that a device receives for beside its own.
func receivedAddresses(handle *netlink.Handle, device netlink.Link) (map[string]bool, error) {
	list, err := netns.Whole(func() ([]netlink.Neigh, error) { return handle.NeighList(device.Attrs().Index, unix.AF_BRIDGE) })
	if err != nil {
		return nil, fmt.Errorf("list the addresses that %s receives for: %w", device.Attrs().Name, err)
	}
	has := map[string]bool{}
	for _, n := range list {
		if n.Flags&unix.NTF_SELF != 0 {
			has[n.HardwareAddr.String()] = true
		}
	}
	return has, nil
}

func forgetAddress(_ context.Context, u journal.Undoing) error {
	return withUplink(u, func(handle *netlink.Handle, uplink netlink.Link) error {
		mac, err := net.ParseMAC(u.Value)
		if err != nil {
			return err
		}
		err = handle.NeighDel(stationOf(uplink, mac))
		if err != nil && !isAbsent(err) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("let %s no longer receive for %s: %w", u.Name, u.Value, err)
		}
		for _, h := range uplinkHooks(uplink, nil)[1:] {
			programs, err := h.ours(handle, u.Token)
			if err != nil {
				return err
			}
			for _, program := range programs {
				if err := takeAddress(ebpf.ProgramID(program.Id), mac); err != nil {
					return fmt.Errorf("take %s from the program at %s: %w", mac, u.Name, err)
				}
			}
		}
		return nil
	})
}

// takeAddress takes a node's address from a program, and those that share its map.
func takeAddress(id ebpf.ProgramID, mac net.HardwareAddr) error {
	program, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return err
	}
	maps, _ := info.MapIDs()
	for _, id := range maps {
		addresses, err := ebpf.NewMapFromID(id)
		if err != nil {
			return err
		}
		if addresses.Type() == ebpf.Hash {
			err = addresses.Delete(addressKey(mac))
		}
		if err = errors.Join(ignoreNoKey(err), addresses.Close()); err != nil {
			return err
		}
	}
	return nil
}

func ignoreNoKey(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}
