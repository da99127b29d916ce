package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// bootGuests boots the new virtual machines, now that their links are made.
func (b *builder) bootGuests(ctx context.Context, w work) error {
	machines := map[spec.Runtime][]node.Machine{}
	for _, n := range w.nodes {
		if n.Guest() {
			machines[n.Runtime] = append(machines[n.Runtime], node.Machine{
				Node: n, Running: b.Running(n.Name), Sysctls: []map[string]string{n.AppSysctls(), n.Sysctls},
				Connect: func() ([]node.Port, []*os.File, error) { return b.connect(n) },
				Record:  b.recordInside,
			})
		}
	}
	for _, list := range machines {
		if err := node.GuestOf(list[0].Node).Boot(ctx, b.place(), list); err != nil {
			return err
		}
	}
	return nil
}

// connect opens what a machine's interfaces are connected to.
func (b *builder) connect(n plan.Node) (ports []node.Port, taps []*os.File, err error) {
	if err := b.site.CheckSources(n, n.Interfaces); err != nil {
		return nil, nil, err
	}
	for _, i := range n.Interfaces {
		made, e := b.Index().EndOf(n.Name, i.Name)
		if made == nil {
			return nil, taps, fmt.Errorf("interface %s is on no link", i.Name)
		}
		if made.Kind.Descriptor().End.IsHardware() {
			ports = append(ports, node.Port{HostDevice: e.Function.Address})
			continue
		}
		if e.Attach == plan.AttachVhost {
			path := link.SocketPath(link.SocketsDir(b.State().Dir), e.Socket)
			if !e.SocketServer {
				err = link.RemoveStaleSocket(path)
			}
			ports = append(ports, node.Port{Socket: path, Server: !e.SocketServer})
		} else {
			tap := b.takeTap(n.Name)
			if tap != nil {
				taps = append(taps, tap)
				ports = append(ports, node.Port{FD: 2 + len(taps)})
				continue
			}
			if tap, err = b.site.OpenTap(*made, e); tap != nil {
				taps = append(taps, tap)
				ports = append(ports, node.Port{FD: 2 + len(taps)})
			} else if err == nil {
				err = fmt.Errorf("interface %s: a virtual machine cannot join a %s link", i.Name, made.Kind)
			}
		}
		if err != nil {
			return nil, taps, err
		}
	}
	return ports, taps, nil
}

// recordInside notes what was set on the devices in a guest.
func (b *builder) recordInside(text []byte) error {
	var settings []link.Setting
	if err := json.Unmarshal(text, &settings); err != nil {
		return err
	}
	b.site.Record(settings)
	return nil
}
