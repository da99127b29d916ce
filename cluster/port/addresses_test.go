package port

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/spec"
)

// TestAPodCannotDrawAnothersPackets by sending with the other's address, nor by asking for it.
func TestAPodCannotDrawAnothersPackets(t *testing.T) {
	for tier, parent := range map[spec.LinkKind]string{spec.LinkXDP: "fast", spec.LinkBridge: "br"} {
		t.Run(string(tier), func(t *testing.T) {
			n := newMachine(t)
			victim, liar, friend := n.podOn(tier, parent, "victim", 1), n.podOn(tier, parent, "liar", 2), n.podOn(tier, parent, "friend", 3)
			if !heard(t, friend, victim, long) {
				t.Fatal("packets do not pass")
			}
			mac, err := net.ParseMAC(victim.held.MAC)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if err := liar.Do(func() error { return sendFrom(mac) }); err != nil {
					t.Fatal(err)
				}
			}
			if at := n.bridgePortsOf(mac); tier == spec.LinkBridge && !slices.Equal(at, []string{nodeName(victim.held.Port.Name)}) {
				t.Errorf("the bridge has the victim's address at %v", at)
			}
			if !heard(t, friend, victim, long) {
				t.Error("the victim's packets go elsewhere")
			}
			n.do(func() error {
				o := n.order("thief", string(tier)+"-thief")
				o.Port, o.MAC = Port{Name: o.Port.Name, Tier: tier, Parent: parent}, strings.ToUpper(victim.held.MAC)
				if _, err := n.Take(context.Background(), o); err == nil || !strings.Contains(err.Error(), "already belongs to port "+victim.held.Port.Name) {
					t.Errorf("a port with the victim's address: %v", err)
				}
				return nil
			})
			for _, p := range []joinedPod{victim, liar, friend} {
				n.giveBack(p.held.Holder)
			}
			n.empty()
		})
	}
}

// TestAPodCannotAskForTheAddressOfABridge, which the node has.
func TestAPodCannotAskForTheAddressOfABridge(t *testing.T) {
	n, pod := newMachine(t), namespace(t)
	o := n.order("thief", "bridge-thief")
	o.Port = Port{Name: o.Port.Name, Tier: spec.LinkBridge, Parent: "br"}
	n.do(func() error {
		bridge, err := netlink.LinkByName("br")
		if err == nil {
			// Once it has ports, its address would be one of theirs.
			err = netlink.LinkSetHardwareAddr(bridge, bridge.Attrs().HardwareAddr)
			o.MAC = bridge.Attrs().HardwareAddr.String()
		}
		return err
	})
	n.take(o)
	n.do(func() error {
		if _, err := n.Attach(context.Background(), o.Holder, o.Port.Name, path(pod)); err == nil || !strings.Contains(err.Error(), "at another port") {
			t.Errorf("attached with the bridge's own address: %v", err)
		}
		return nil
	})
	n.giveBack(o.Holder)
	n.empty()
}

// TestAPodMayUseAnotherAddress behind its port of a bridge, as virtual machines in it do.
func TestAPodMayUseAnotherAddress(t *testing.T) {
	n := newMachine(t)
	a, b := n.podOn(spec.LinkBridge, "br", "a", 1), n.podOn(spec.LinkBridge, "br", "b", 2)
	err := b.Do(func() error {
		device, err := netlink.LinkByName("net1")
		if err != nil {
			return err
		}
		return netlink.LinkSetHardwareAddr(device, net.HardwareAddr{2, 0, 0, 0, 0, 9})
	})
	if err != nil {
		t.Fatal(err)
	}
	if !heard(t, a, b, long) || !heard(t, b, a, long) {
		t.Error("packets do not pass")
	}
	n.giveBack("a")
	n.giveBack("b")
	n.empty()
}

// sendFrom sends a frame to everyone, with a source address.
func sendFrom(mac net.HardwareAddr) error {
	device, err := netlink.LinkByName("net1")
	if err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	frame := make([]byte, 60)
	for i := range 6 {
		frame[i], frame[6+i] = 0xff, mac[i]
	}
	return unix.Sendto(socket, frame, 0, &unix.SockaddrLinklayer{Ifindex: device.Attrs().Index, Halen: 6})
}

// bridgePortsOf are the devices of the node's bridge at which it has an address.
func (n *machine) bridgePortsOf(mac net.HardwareAddr) (at []string) {
	n.t.Helper()
	n.do(func() error {
		entries, err := netlink.NeighList(0, unix.AF_BRIDGE)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.MasterIndex == 0 || e.HardwareAddr.String() != mac.String() {
				continue // of a device itself, or of another
			}
			device, err := netlink.LinkByIndex(e.LinkIndex)
			if err != nil {
				return err
			}
			at = append(at, device.Attrs().Name)
		}
		return nil
	})
	return at
}
