package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/jitter"
)

// portName is the engine's name for the port of a round trip.
const portName = "node"

// way is how packets to an address leave this node.
type way struct {
	device string
	source netip.Addr
}

// wayTo asks the kernel, like ip route get.
func wayTo(address netip.Addr) (way, error) {
	routes, err := netlink.RouteGet(net.IP(address.AsSlice()))
	if err != nil {
		return way{}, fmt.Errorf("find a route to %s: %w", address, err)
	}
	if len(routes) == 0 {
		return way{}, fmt.Errorf("no route to %s", address)
	}
	device, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return way{}, fmt.Errorf("find the interface to %s: %w", address, err)
	}
	source, ok := netip.AddrFromSlice(routes[0].Src)
	if !ok {
		return way{}, fmt.Errorf("%s has no address from which to reach %s", device.Attrs().Name, address)
	}
	return way{device.Attrs().Name, source.Unmap()}, nil
}

// echo is an engine that sends packets back.
type echo struct {
	engine *jitter.Engine
	from   netip.Addr
	timer  *time.Timer
	// back releases the port that the echo uses; nil on the nodes' own network.
	back func() error
	// busy reports whether the node has been busy since the echo began.
	busy func() bool
	// settle charges the budget with what the echo has used.
	settle func()
	// done stops the watch over the node while the echo runs.
	done func()
}

// end ends the engine and releases its port.
func (e *echo) end() error {
	err := e.engine.End()
	if e.back != nil {
		err = errors.Join(err, e.back())
	}
	return err
}

// startEcho reflects the packets that arrive on a UDP port of the interface that leads to an address. The
// engine sleeps on its socket: without packets it uses no CPU.
func startEcho(program string, to netip.Addr, port, frameBytes int) (*echo, error) {
	by, err := wayTo(to)
	if err != nil {
		return nil, err
	}
	engine, err := jitter.StartEngine(program)
	if err != nil {
		return nil, err
	}
	e := &echo{engine: engine, from: to}
	return e, e.reflect(by, port, frameBytes)
}

// startEchoOver reflects the packets of a pod network. from is the node that the echo is for.
func startEchoOver(ctx context.Context, program string, probes *Probes, n Network, from, address netip.Addr, port, frameBytes int) (*echo, error) {
	made, err := probes.start(ctx, program, n, address)
	if err != nil {
		return nil, err
	}
	e := &echo{engine: made.engine, from: from, back: made.back}
	return e, e.reflect(way{probeInterface, address}, port, frameBytes)
}

// reflect makes the engine send packets back on a path; on an error it ends the engine.
func (e *echo) reflect(by way, port, frameBytes int) error {
	_, err := e.engine.Open(portOf(by, netip.Addr{}, port, frameBytes))
	if err == nil {
		err = e.engine.Serve(client.Serve{Role: "reflect", Ports: []string{portName}, CPU: -1})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("send packets back on UDP port %d: %w", port, err), e.end())
	}
	return nil
}

// portOf returns the engine's port; peer is the zero address for a port that only answers.
func portOf(by way, peer netip.Addr, port, frameBytes int) client.Port {
	p := client.Port{
		Name: portName, Backend: "udp", Interface: by.device, IO: "single", Wait: "block",
		LocalIP: by.source.String(), UDPPort: port, FrameBytes: frameBytes,
	}
	if peer.IsValid() {
		p.PeerIP = peer.String()
	}
	return p
}
