package traffic

import (
	"cmp"
	"fmt"
	"net"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/engine"
	"nines.dev/nines/plan"
)

// The engine's names for the two ports of a stream.
const (
	txPort = "tx"
	rxPort = "rx"
)

// openPorts opens both ends, or the single one of a round trip.
func (g *Generator) openPorts() error {
	from, to := g.traffic.From, g.traffic.To
	io := string(g.traffic.Stream.IO)
	if g.traffic.RoundTrip {
		return g.open(g.tx, txPort, from, io)
	}
	if !g.lab.Plan().MayBeXDPFrames(&g.traffic) {
		if err := g.open(g.tx, txPort, from, io); err != nil {
			return err
		}
		return g.open(g.rx, rxPort, to, io)
	}
	// The sink first: its program lets a veth's other end accept frames.
	if err := g.open(g.rx, rxPort, to, io); err != nil {
		return err
	}
	takes, err := engine.TakesXDPFrames(g.lab.Lab, from)
	if err != nil {
		return err
	}
	if takes {
		io = client.XDPFrames
	}
	return g.open(g.tx, txPort, from, io)
}

func (g *Generator) open(p *process, name string, port plan.Port, io string) error {
	stream := g.traffic.Stream
	stream.Backend = cmp.Or(port.Backend, stream.Backend)
	asked := client.Port{
		Name: name, Backend: string(stream.Backend), Interface: port.Interface,
		IO: io, Wait: string(stream.Wait),
		LocalMAC: port.LocalMAC, LocalIP: port.LocalIP, PeerMAC: port.PeerMAC, PeerIP: port.PeerIP,
		SenderIP: g.senderIP(),
		UDPPort:  port.UDPPort, FrameBytes: stream.FrameBytes,
		Flows: stream.Flows, FlowField: string(stream.FlowField),
	}
	if err := engine.UseDevice(g.lab.Lab, &asked, port.Node); err != nil {
		return err
	}
	opened, err := p.Open(asked)
	if err != nil {
		return fmt.Errorf("open %s:%s with %s: %w", port.Node, port.Interface, stream.Backend, err)
	}
	for _, note := range append(opened.Notes, opened.Mode) {
		if note != "" {
			g.notes = append(g.notes, fmt.Sprintf("%s:%s: %s", port.Node, port.Interface, note))
		}
	}
	return nil
}

// senderIP is the source address of the packets of flow 0; empty where a cluster gives it.
func (g *Generator) senderIP() string {
	if net.ParseIP(g.traffic.From.LocalIP) == nil {
		return ""
	}
	return g.traffic.From.LocalIP
}
