package port

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/spec"
)

// joinedPod is a pod with a port that something joins with others: an XDP switch, or a bridge.
//
//	pod a: net1 ── [np…: XDP] ─┐
//	pod b: net1 ── [np…: XDP] ─┴─ the programs' maps
type joinedPod struct {
	*netns.Namespace
	held    Held
	address netip.Addr
}

func (n *machine) xdpPod(parent, name string, number int) joinedPod {
	n.t.Helper()
	return n.podOn(spec.LinkXDP, parent, name, number)
}

// podOn makes a pod with a port of a parent, whose address ends in a number.
func (n *machine) podOn(tier spec.LinkKind, parent, name string, number int) joinedPod {
	n.t.Helper()
	return n.podWith(Port{Tier: tier, Parent: parent}, name, number)
}

// podWith is podOn for any port.
func (n *machine) podWith(p Port, name string, number int) joinedPod {
	n.t.Helper()
	o := n.order(name, string(p.Tier)+"-"+name)
	p.Name = o.Port.Name
	o.Port = p
	address := netip.AddrFrom4([4]byte{10, 7, 0, byte(number)})
	o.Addresses, o.Routes = []netip.Prefix{netip.PrefixFrom(address, 24)}, nil
	n.take(o)
	pod := namespace(n.t)
	return joinedPod{pod, n.attach(o, pod), address}
}

// heard reports whether a pod gets what another one sends to its address: addresses are found by broadcasts, and
// the receiver checks the packet's checksum.
func heard(t *testing.T, from, to joinedPod, wait time.Duration) bool {
	t.Helper()
	var receiver net.PacketConn
	err := to.Do(func() (err error) { receiver, err = net.ListenPacket("udp4", to.address.String()+":7000"); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	var sender net.Conn
	err = from.Do(func() (err error) { sender, err = net.Dial("udp4", to.address.String()+":7000"); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	buffer, end := make([]byte, 100), time.Now().Add(wait)
	for time.Now().Before(end) {
		_, _ = sender.Write([]byte("hello")) // who is not there refuses
		_ = receiver.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if size, _, err := receiver.ReadFrom(buffer); err == nil && string(buffer[:size]) == "hello" {
			return true
		} else if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
	return false
}

// long is enough for any machine, and brief for what is not to arrive at all.
const long, brief = 20 * time.Second, 400 * time.Millisecond

func TestPortsOfAnXDPSwitchReachEachOther(t *testing.T) {
	n := newMachine(t)
	a, b := n.xdpPod("fast", "a", 1), n.xdpPod("fast", "b", 2)
	elsewhere := n.xdpPod("slow", "c", 3)
	if !heard(t, a, b, long) || !heard(t, b, a, long) {
		t.Error("two ports of one switch do not reach each other")
	}
	if heard(t, a, elsewhere, brief) {
		t.Error("a port of another switch is reached")
	}

	n.giveBack("b")
	d := n.xdpPod("fast", "d", 4)
	if !heard(t, a, d, long) || !heard(t, d, a, long) {
		t.Error("a port that was made later is not reached")
	}
	if addresses := n.addressesBeside(a); addresses != 2 {
		t.Errorf("the switch has %d addresses: that of a port that is gone is to be forgotten", addresses)
	}

	// Someone takes a port out of the switch: the driver's start restores it.
	n.do(func() error {
		end, err := netlink.LinkByName(nodeName(a.held.Port.Name))
		if err != nil {
			return err
		}
		return netlink.LinkSetXdpFdWithFlags(end, -1, unix.XDP_FLAGS_DRV_MODE)
	})
	if heard(t, a, d, brief) {
		t.Error("packets pass without a program")
	}
	n.do(func() error { return n.Sweep(context.Background()) })
	if !heard(t, a, d, long) {
		t.Error("the port is not back in the switch")
	}
	for _, holder := range []string{"a", "c", "d"} {
		n.giveBack(holder)
	}
	n.empty()
}

// addressesBeside is how many addresses the switch of a port has.
func (n *machine) addressesBeside(p joinedPod) (count int) {
	n.t.Helper()
	n.do(func() error {
		end, err := netlink.LinkByName(nodeName(p.held.Port.Name))
		if err != nil {
			return err
		}
		in, err := link.XDPSwitchOf(end)
		if err != nil || in == nil {
			return fmt.Errorf("it is in no switch: %w", err)
		}
		defer in.Close()
		count, err = in.Addresses()
		return err
	})
	return count
}
