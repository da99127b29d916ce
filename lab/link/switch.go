package link

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
)

// switchProgram is the Name of a link's switch in the journal.
const switchProgram = "nines-engine"

// switchPatience bounds a conversation with a link's switch.
const switchPatience = 20 * time.Second

// SwitchSocket is the control socket of a link of the kind switch.
func SwitchSocket(stateDir, linkName string) string {
	return filepath.Join(runDir(stateDir, linkName), "control")
}

// makeSwitch joins endpoints by the engine's learning switch, which runs in the fabric: a DPDK
// endpoint attaches by a vhost-user socket that the switch listens on, a kernel endpoint by a veth
// pair whose fabric end the switch opens with AF_XDP. New endpoints join the running switch.
func makeSwitch(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if err := s.addFabricPairs(l, endpoints); err != nil {
		return err
	}
	if !s.runs(l, switchProgram) {
		if err := s.startSwitch(ctx, l); err != nil {
			return err
		}
	}
	return s.withSwitch(ctx, l, func(c *client.Client) error {
		for _, e := range endpoints {
			if err := s.joinSwitch(c, l, e); err != nil {
				return fmt.Errorf("port %s: %w", e.Name(), err)
			}
		}
		return nil
	})
}

// startSwitch starts the engine as a switch, still without ports.
func (s *Site) startSwitch(ctx context.Context, l plan.Link) error {
	if l.Switch == nil {
		return errors.New("the plan assigns it no CPUs")
	}
	socket := SwitchSocket(s.StateDir, l.Name)
	if err := CheckSocketPath(socket); err != nil {
		return err
	}
	_, err := s.Start(ctx, l, Program{
		Name: switchProgram, Argv: []string{s.EnginePath, "--socket", socket}, Ready: s.Listening(socket),
	})
	if err != nil {
		return err
	}
	return s.withSwitch(ctx, l, func(c *client.Client) error {
		if _, err := c.Hello(); err != nil {
			return err
		}
		return c.StartSwitch(client.Switch{
			CPUs: l.Switch.CPUs, AgeingNs: int64(time.Duration(l.Switch.Settings.Ageing)),
		})
	})
}

// withSwitch talks to the engine of a link, which takes one client at a time.
func (s *Site) withSwitch(ctx context.Context, l plan.Link, f func(*client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, switchPatience)
	defer cancel()
	c, err := client.Dial(ctx, SwitchSocket(s.StateDir, l.Name))
	if err != nil {
		return err
	}
	// An engine that died, or that keeps talking to another client, does not answer.
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	err = f(c)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("it gave no answer within %v: %w", switchPatience, err)
	}
	if err != nil {
		err = withLog(err, LogPath(s.StateDir, l.Name, switchProgram))
	}
	_ = c.Close() // the timeout may have closed it already
	return err
}

// joinSwitch opens an endpoint's port and attaches it.
func (s *Site) joinSwitch(c *client.Client, l plan.Link, e plan.Endpoint) error {
	port, err := s.switchPort(l, e)
	if err != nil {
		return err
	}
	if _, err := c.Open(port); err != nil {
		return err
	}
	attach := attachment(l, e)
	if l.Kind.Descriptor().Program == nil {
		// It stands in for XDP programs, which know the plan's addresses.
		i, err := s.interfaceOf(e)
		if err != nil {
			return err
		}
		attach.MACs = []string{i.MAC}
	}
	return c.Attach(attach)
}

// switchPort is what the switch has to open for an endpoint.
func (s *Site) switchPort(l plan.Link, e plan.Endpoint) (client.Port, error) {
	port := client.Port{
		Name: e.Name(), Frames: "all", IO: "batch", Wait: "spin",
		FrameBytes: l.MTU + ethernetBytes,
	}
	switch e.Attach {
	case plan.AttachVhost:
		socket, err := s.Socket(l, e)
		port.Backend, port.Device, port.Server = "vhost", socket, e.SocketServer
		return port, err
	case plan.AttachVeth:
		port.Backend, port.Interface = "xdp", e.FabricDevice
		if port.FrameBytes > xdpFrameBytes {
			port.Backend = "ring"
		}
		return port, nil
	}
	return port, fmt.Errorf("the plan has no attachment for it to the switch (attach is %q)", e.Attach)
}

const (
	// ethernetBytes are a frame's header and FCS.
	ethernetBytes = 18
	// xdpFrameBytes is the longest frame that fits one buffer of an AF_XDP port; longer
	// ones take multi-buffer mode, which not every kernel has (docs/reference/engine-protocol.md).
	xdpFrameBytes = 3500
)

// attachment is the user's settings for an endpoint's port.
func attachment(l plan.Link, e plan.Endpoint) client.SwitchPort {
	settings := l.Switch.Settings
	port := client.SwitchPort{
		Port: e.Name(), FloodPPS: settings.FloodPPS, BroadcastPPS: settings.BroadcastPPS,
	}
	if said := settings.Ports[e.Name()]; said != nil {
		port.VLAN, port.Trunk, port.MACs = said.VLAN, said.Trunk, said.MACs
	}
	port.Impair = impairment(l, e)
	return port
}

// leaveSwitch removes ports from the switch; the others keep running.
func leaveSwitch(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	return s.withSwitch(ctx, l, func(c *client.Client) error {
		for _, e := range endpoints {
			name := e.Name()
			// A port whose guest never connected may still be attached; one that a killed nines did
			// not attach does not exist.
			_ = c.Detach(name)
			if err := c.ClosePort(name); err != nil {
				return fmt.Errorf("port %s: %w", name, err)
			}
		}
		return nil
	})
}
