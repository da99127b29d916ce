package power

import (
	"net"
	"net/netip"
)

// The host answers for any of its addresses at any of its interfaces (the weak model of RFC 1122,
// 3.3.4.2). So a socket on a network of the lab also gets what another machine sends to its address by way of
// the host's own network. These hear only clients whose addresses are of the lab's network: the answer
// to a made up one goes to that network, so nobody else can log in.

// OnlyFrom drops the packets of a socket that do not come from a network.
func OnlyFrom(conn net.PacketConn, network netip.Prefix) net.PacketConn {
	return &nearPackets{conn, network}
}

type nearPackets struct {
	net.PacketConn
	network netip.Prefix
}

func (n *nearPackets) ReadFrom(buffer []byte) (int, net.Addr, error) {
	for {
		size, from, err := n.PacketConn.ReadFrom(buffer)
		if err != nil || isOf(n.network, from) {
			return size, from, err
		}
	}
}

// OnlyClientsFrom closes the connections of a listener that do not come from a network.
func OnlyClientsFrom(listener net.Listener, network netip.Prefix) net.Listener {
	return &nearClients{listener, network}
}

type nearClients struct {
	net.Listener
	network netip.Prefix
}

func (n *nearClients) Accept() (net.Conn, error) {
	for {
		conn, err := n.Listener.Accept()
		if err != nil || isOf(n.network, conn.RemoteAddr()) {
			return conn, err
		}
		_ = conn.Close()
	}
}

// isOf is true for the address of a client on a network.
func isOf(network netip.Prefix, client net.Addr) bool {
	from, err := netip.ParseAddrPort(client.String())
	return err == nil && network.Contains(from.Addr().Unmap())
}
