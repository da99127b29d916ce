package bmc

import (
	"net"
	"os"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

// FirstSocket is the descriptor of the first socket that the process is started with: Redfish's,
// if there is one, then one for each node with a port, in the plan's order.
const FirstSocket = 3

// listen opens the sockets. With an error it returns those that it has opened.
func listen(p *plan.Power) (sockets []*os.File, err error) {
	if host, has := p.RedfishHost(); has {
		listener, err := net.Listen("tcp", host)
		if err != nil {
			return sockets, addressTaken("redfish_port", host, err)
		}
		file, err := listener.(*net.TCPListener).File()
		_ = listener.Close() // the file is a duplicate
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, file)
	}
	for _, n := range p.Nodes {
		if n.Port == 0 {
			continue
		}
		conn, err := net.ListenPacket("udp", p.IPMI(n))
		if err != nil {
			return sockets, addressTaken("first_port", p.IPMI(n), err)
		}
		file, err := conn.(*net.UDPConn).File()
		_ = conn.Close()
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, file)
	}
	return sockets, nil
}

func addressTaken(key, address string, err error) error {
	return exit.Wrongf("power: %s cannot be listened at: %w; give another %s, as other labs and servers of this host have ports, too", address, err, key)
}
