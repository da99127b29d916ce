package lab

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestTCPSendsFramesOfTheMTU: what TCP sends over a link are frames that its MTU allows, and no packet that stands for
// several, over each kind that the kernel alone makes.
func TestTCPSendsFramesOfTheMTU(t *testing.T) {
	for _, kind := range spec.LinkKinds() {
		d := kind.Descriptor()
		if d.Program != nil || d.End == spec.EndNone || d.End.IsHardware() || d.Remote {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			labtest.Root(t)
			lab := up(t, labs.Star(string(kind), 2, 1500))
			before := received(t, lab, "n2")
			sendByTCP(t, lab, "n1", "n2", 4<<20)
			after := received(t, lab, "n2")
			bytes, packets := after.RxBytes-before.RxBytes, after.RxPackets-before.RxPackets
			if bytes < 4<<20 || bytes > packets*(1500+14) {
				t.Errorf("n2 received %d bytes in %d packets", bytes, packets)
			}
		})
	}
}

// received are the counters of a node's interface.
func received(t *testing.T, lab *Lab, node string) netlink.LinkStatistics {
	t.Helper()
	var counted netlink.LinkStatistics
	inNetworkOf(t, lab, node, func() error {
		device, err := netlink.LinkByName("eth")
		if err == nil {
			counted = *device.Attrs().Statistics
		}
		return err
	})
	return counted
}

// sendByTCP sends bytes from one node to another over TCP.
func sendByTCP(t *testing.T, lab *Lab, from, to string, bytes int) {
	t.Helper()
	var listener net.Listener
	address := netip.MustParsePrefix(lab.Plan().Node(to).Interfaces[0].Addresses[0]).Addr().String()
	inNetworkOf(t, lab, to, func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(address, "5001"))
		return err
	})
	defer listener.Close()
	took := make(chan error, 1)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, connection)
			err = errors.Join(err, connection.Close())
		}
		took <- err
	}()
	var connection net.Conn
	inNetworkOf(t, lab, from, func() (err error) {
		connection, err = net.Dial("tcp", listener.Addr().String())
		return err
	})
	_, err := connection.Write(make([]byte, bytes))
	if err := errors.Join(err, connection.Close(), <-took); err != nil {
		t.Fatal(err)
	}
}

// inNetworkOf calls f in the network namespace of a node.
func inNetworkOf(t *testing.T, lab *Lab, node string, f func() error) {
	t.Helper()
	ns, err := netns.OfProcess(lab.PID(node))
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := ns.Do(f); err != nil {
		t.Fatal(err)
	}
}
