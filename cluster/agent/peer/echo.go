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

// way is how packets leave this node for an address.
type way struct {
	device string
	source netip.Addr
}

// wayTo asks the kernel, as ip route get does.
func wayTo(address netip.Addr) (way, error) {
	routes, err := netlink.RouteGet(net.IP(address.AsSlice()))
	if err != nil {
		return way{}, fmt.Errorf("find the way to %s: %w", address, err)
	}
	if len(routes) == 0 {
		return way{}, fmt.Errorf("there is no way to %s", address)
	}
	device, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return way{}, fmt.Errorf("find the device to %s: %w", address, err)
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
	// back gives the port back over which it is; nil on the nodes' own network.
	back func() error
	// done ends what watches over the node while the echo lasts.
	done func()
}

// end ends the engine, and gives its port back.
func (e *echo) end() error {
	err := e.engine.End()
	if e.back != nil {
		err = errors.Join(err, e.back())
	}
	return err
}

// startEcho reflects what comes to a UDP port from the device to an address. The engine sleeps on
// its socket: without packets it costs nothing.
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

// startEchoOver reflects what comes over a network of pods. The echo is for the node with an address.
func startEchoOver(ctx context.Context, program string, probes *Probes, n Network, from, address netip.Addr, port, frameBytes int) (*echo, error) {
	made, err := probes.start(ctx, program, n, address)
	if err != nil {
		return nil, err
	}
	e := &echo{engine: made.engine, from: from, back: made.back}
	return e, e.reflect(way{probeInterface, address}, port, frameBytes)
}

// reflect has the engine send back what comes by a way, or ends it.
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

// portOf is the engine's port; peer is the zero address for one that only answers.
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
