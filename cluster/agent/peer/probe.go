package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"time"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/measure/jitter"
	"nines.dev/nines/spec"
)

// Network is a pod network that spans nodes: ports of one tier, on parents of one name.
type Network struct {
	Tier   spec.LinkKind `json:"tier"`
	Parent string        `json:"parent"`
}

func (n Network) String() string { return fmt.Sprintf("%s on %s", n.Tier, n.Parent) }

// Probes makes ports for round trips, like those of pods, and removes them again. They are separate from the
// ports for pods, and have names of their own.
type Probes struct {
	// Node is this node's name.
	Node   string
	Keeper port.Keeper
	// Ports returns a port of each network that the node has; nil for none.
	Ports func() ([]port.Port, error)
}

// Networks returns the networks on which the node can make ports now.
func (p *Probes) Networks(ctx context.Context) ([]Network, error) {
	if p == nil {
		return nil, nil
	}
	ports, err := p.Ports()
	if err != nil {
		return nil, err
	}
	var list []Network
	seen := map[spec.LinkKind]bool{}
	for _, one := range ports {
		// A figure belongs to a tier and a node, so one network of each tier is measured.
		if !one.Spans() || seen[one.Tier] || one.Available(ctx) != nil {
			continue
		}
		seen[one.Tier] = true
		list = append(list, Network{one.Tier, one.Parent})
	}
	return list, nil
}

// holder is the name under which this node's probes are held. It includes the node, because the MAC address is
// derived from it.
func (p *Probes) holder() string { return "agent/" + p.Node }

// Clear releases what a previous agent has left.
func (p *Probes) Clear(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.Keeper.GiveBack(ctx, p.holder())
}

const (
	probeInterface = "probe0"
	// passes is how long it may take until a new port passes packets.
	passes = 5 * time.Second
)

// probe is an engine with a port of a network, in a namespace of its own.
type probe struct {
	engine  *jitter.Engine
	address netip.Addr
	back    func() error
}

// Address returns the address of this node's probe: a link-local one (RFC 3927, 2.1), derived from the node's
// name. It always differs from the address of the other end.
func Address(node string, other netip.Addr) netip.Addr {
	const first, count = 0xa9fe0100, 254 << 8 // 169.254.1.0 to 169.254.254.255
	h := fnv.New32a()
	_, _ = h.Write([]byte(node)) // cannot fail
	for n := h.Sum32() % count; ; n = (n + 1) % count {
		a := uint32(first) + n
		address := netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
		if address != other {
			return address
		}
	}
}

// start makes a probe with an address.
func (p *Probes) start(ctx context.Context, program string, n Network, address netip.Addr) (made *probe, err error) {
	one, err := p.portOf(n)
	if err != nil {
		return nil, err
	}
	engine, err := jitter.StartEngineApart(program)
	if err != nil {
		return nil, err
	}
	giveBack := func() error { return p.Keeper.GiveBack(context.WithoutCancel(ctx), p.holder(), one.Name) }
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a port of %s: %w", n, err), engine.End(), giveBack())
		}
	}()
	held, err := p.Keeper.Take(ctx, port.Order{
		Holder: p.holder(), Port: one, Interface: probeInterface, Addresses: []netip.Prefix{netip.PrefixFrom(address, 16)},
	})
	if err != nil {
		return nil, err
	}
	if held, err = p.Keeper.Attach(ctx, held.Holder, one.Name, fmt.Sprintf("/proc/%d/ns/net", engine.PID)); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, passes)
	defer cancel()
	if err = p.Keeper.Await(limited, held); err != nil {
		return nil, err
	}
	return &probe{engine: engine, address: address, back: giveBack}, nil
}

// portOf returns a port of a network, with a name that no pod's port has.
func (p *Probes) portOf(n Network) (port.Port, error) {
	ports, err := p.Ports()
	if err != nil {
		return port.Port{}, err
	}
	for _, one := range ports {
		if one.Tier == n.Tier && one.Parent == n.Parent && one.Spans() {
			one.Name, one.Addresses = one.NumberedName(0), nil // ports of pods are numbered from 1
			return one, nil
		}
	}
	return port.Port{}, &AbsentError{Network: n}
}

// AbsentError means that a node has no ports of a network; an empty Node is this one.
type AbsentError struct {
	Network Network
	Node    string
}

func (e *AbsentError) Error() string {
	return fmt.Sprintf("node %s has no ports of %s", cmp.Or(e.Node, "(this one)"), e.Network)
}

// end ends the engine and releases the port.
func (p *probe) end() error { return errors.Join(p.engine.End(), p.back()) }
