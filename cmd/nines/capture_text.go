package main

import (
	"fmt"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"nines.dev/nines/lab/capture"
)

// describeFrame describes a frame in a line: time, direction, addresses, protocol, length.
func describeFrame(f capture.Frame, since time.Duration) string {
	way := "<"
	if f.Outgoing {
		way = ">"
	}
	packet := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	from, to, what := "?", "?", "?"
	if l := packet.LinkLayer(); l != nil {
		flow := l.LinkFlow()
		from, to, what = flow.Src().String(), flow.Dst().String(), l.LayerType().String()
	}
	if eth, ok := packet.LinkLayer().(*layers.Ethernet); ok {
		what = eth.EthernetType.String()
	}
	if n := packet.NetworkLayer(); n != nil {
		flow := n.NetworkFlow()
		from, to, what = flow.Src().String(), flow.Dst().String(), n.LayerType().String()
	}
	if t := packet.TransportLayer(); t != nil {
		flow := t.TransportFlow()
		from, to, what = from+":"+flow.Src().String(), to+":"+flow.Dst().String(), t.LayerType().String()
	} else if icmp := packet.Layer(layers.LayerTypeICMPv4); icmp != nil {
		what = icmp.(*layers.ICMPv4).TypeCode.String()
	}
	return fmt.Sprintf("%12.9f %s %s > %s %s %d bytes", since.Seconds(), way, from, to, what, f.Length)
}
