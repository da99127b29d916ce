package traffic

import (
	"cmp"
	"fmt"
	"net"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/engine"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The engine's names for the two ports of a stream.
const (
	txPort = "tx"
	rxPort = "rx"
)

// stream is one of a trial's streams, with the engine's names for it and its ports.
type stream struct {
	plan.Traffic
	name, tx, rx string
}

// named gives streams their names; one alone has none. That of a round trip receives by the port that sends.
func named(all []*plan.Traffic) []stream {
	var list []stream
	for _, t := range all {
		s := stream{Traffic: *t, tx: txPort, rx: rxPort}
		if len(all) > 1 {
			_, s.name = spec.SideOf(t.From.Interface)
			s.tx, s.rx = spec.OnSide(s.tx, s.name), spec.OnSide(s.rx, s.name)
		}
		if t.RoundTrip {
			s.rx = s.tx
		}
		list = append(list, s)
	}
	return list
}

// openPorts opens the ports of all streams.
func (g *Generator) openPorts() error {
	for _, s := range g.streams {
		if err := g.openPortsOf(s); err != nil {
			return err
		}
	}
	return nil
}

// openPortsOf opens both ends of a stream, or the single one of a round trip.
func (g *Generator) openPortsOf(s stream) error {
	io := string(s.Stream.IO)
	if s.RoundTrip {
		return g.open(g.tx, s, s.tx, s.From, io)
	}
	if !g.lab.Plan().MayBeXDPFrames(&s.Traffic) {
		if err := g.open(g.tx, s, s.tx, s.From, io); err != nil {
			return err
		}
		return g.open(g.rx, s, s.rx, s.To, io)
	}
	// The sink first: its program lets a veth's other end accept frames.
	if err := g.open(g.rx, s, s.rx, s.To, io); err != nil {
		return err
	}
	takes, err := engine.TakesXDPFrames(g.lab.Lab, s.From)
	if err != nil {
		return err
	}
	if takes {
		io = client.XDPFrames
	}
	return g.open(g.tx, s, s.tx, s.From, io)
}

func (g *Generator) open(p *process, s stream, name string, port plan.Port, io string) error {
	stream := s.Stream
	stream.Backend = cmp.Or(port.Backend, stream.Backend)
	asked := client.Port{
		Name: name, Backend: string(stream.Backend), Interface: port.Interface,
		IO: io, Wait: string(stream.Wait),
		LocalMAC: port.LocalMAC, LocalIP: port.LocalIP, PeerMAC: port.PeerMAC, PeerIP: port.PeerIP,
		SenderIP: s.senderIP(),
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
func (s stream) senderIP() string {
	if net.ParseIP(s.From.LocalIP) == nil {
		return ""
	}
	return s.From.LocalIP
}
