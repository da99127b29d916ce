package analyze

import (
	"fmt"
	"net"
	"net/netip"
)

// endpoints are who sends to whom. They identify a flow.
type endpoints struct {
	sort     endpointsSort
	kind     uint16 // protocol, EtherType or stream
	from, to netip.AddrPort
	// fromMAC and toMAC are set only without an IP header.
	fromMAC, toMAC [6]byte
}

type endpointsSort uint8

const (
	unknownEndpoints endpointsSort = iota
	streamEndpoints                // a stream of nines' payload, from wherever to wherever
	etherEndpoints
	ipEndpoints // without ports
	portEndpoints
	hostEndpoints // two hosts, whatever they send
)

// endpointsOf reads them from a packet.
func endpointsOf(f *frame) endpoints {
	from, to := f.addresses()
	if !from.IsValid() {
		if f.mac < 0 {
			return endpoints{}
		}
		kind := f.etherType
		if kind < etherLength {
			kind = 0
		}
		return endpoints{sort: etherEndpoints, kind: kind, fromMAC: [6]byte(f.data[f.mac+6:]), toMAC: [6]byte(f.data[f.mac:])}
	}
	e := endpoints{sort: ipEndpoints, kind: uint16(f.proto)}
	var source, target uint16
	if f.transport != 0 {
		e.sort = portEndpoints
		source, target = f.ports()
	}
	e.from, e.to = netip.AddrPortFrom(from, source), netip.AddrPortFrom(to, target)
	return e
}

// reversed are those of the answers; the same if they do not say who sends.
func (e endpoints) reversed() endpoints {
	e.from, e.to = e.to, e.from
	e.fromMAC, e.toMAC = e.toMAC, e.fromMAC
	return e
}

// hosts leaves out everything but the two hosts.
func (e endpoints) hosts() endpoints {
	switch e.sort {
	case etherEndpoints:
		return endpoints{sort: hostEndpoints, fromMAC: e.fromMAC, toMAC: e.toMAC}
	case ipEndpoints, portEndpoints:
		return endpoints{sort: hostEndpoints, from: netip.AddrPortFrom(e.from.Addr(), 0), to: netip.AddrPortFrom(e.to.Addr(), 0)}
	}
	return e
}

func (e endpoints) String() string {
	protocol := fmt.Sprintf("protocol %d", e.kind)
	switch e.kind {
	case protoUDP:
		protocol = "UDP"
	case protoTCP:
		protocol = "TCP"
	}
	switch e.sort {
	case streamEndpoints:
		return fmt.Sprintf("stream %d", e.kind)
	case etherEndpoints:
		return fmt.Sprintf("%s > %s EtherType %#04x", net.HardwareAddr(e.fromMAC[:]), net.HardwareAddr(e.toMAC[:]), e.kind)
	case ipEndpoints:
		return fmt.Sprintf("%s > %s %s", e.from.Addr(), e.to.Addr(), protocol)
	case portEndpoints:
		return fmt.Sprintf("%s > %s %s", e.from, e.to, protocol)
	case hostEndpoints:
		if e.from.IsValid() {
			return fmt.Sprintf("%s > %s", e.from.Addr(), e.to.Addr())
		}
		return fmt.Sprintf("%s > %s", net.HardwareAddr(e.fromMAC[:]), net.HardwareAddr(e.toMAC[:]))
	}
	return "other"
}
