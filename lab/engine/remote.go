package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// startRemote starts the engine of a node on a cluster, and its app. The process on this host
// that serves its socket ends when the engine does, and with it the engine.
func (m Maker) startRemote(ctx context.Context, n plan.Node, r node.Remote) error {
	socket, err := node.PrepareEngineSocket(m.State().Dir, n.Name)
	if err != nil {
		return err
	}
	token := m.Place.Journal.Token("engine/" + n.Name)
	var relay proc.Identity
	err = process.Make(m.Place.Journal, journal.Step{Node: n.Name, Name: running.EngineStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.Create(m.EngineLog(n.Name))
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		cmd, err := r.ServeEngine(m.Place, n, socket)
		if err == nil {
			relay, err = node.Spawn(cmd, token, log)
		}
		return relay, err
	})
	if err != nil {
		return err
	}
	return m.serve(ctx, n, relay, node.GuestPatience)
}

// useAddresses replaces endpoints by the addresses that their pods have: a plan cannot know them.
func useAddresses(l *running.Lab, port *client.Port) error {
	for _, address := range []*string{&port.LocalIP, &port.PeerIP} {
		name, iface, isEndpoint := strings.Cut(*address, ":")
		n := l.Index().Node(name)
		if !isEndpoint || n == nil || !n.Remote() {
			continue
		}
		pod, err := l.Place("").Pod(name)
		if err != nil {
			return err
		}
		if *address, err = pod.AddressOf(iface); err != nil {
			return err
		}
	}
	return nil
}

// claimedDevice is what an engine in a pod has to open for a socket that the pod claims.
func claimedDevice(l *running.Lab, nodeName string, i plan.Interface, at int) (string, error) {
	pod, err := l.Place("").Pod(nodeName)
	if err != nil {
		return "", err
	}
	claimed := pod.Ports[i.Name]
	if claimed.Socket == "" {
		return "", fmt.Errorf("interface %s:%s: nines has no record of the socket that its pod claims; nines apply recreates the pod, with the nines-cluster of this version (make setup-cluster)", nodeName, i.Name)
	}
	if t := l.Plan().Traffic; t != nil && plan.MTUOf(t.Stream.FrameBytes) > claimed.MTU {
		return "", exit.Wrongf("interface %s:%s: frames of %d bytes need an MTU of %d, and the port that its pod claims has %d; set mtu of these ports in the ports file, or send smaller frames",
			nodeName, i.Name, t.Stream.FrameBytes, plan.MTUOf(t.Stream.FrameBytes), claimed.MTU)
	}
	device := *i.Device
	device.Server = claimed.Listens
	i.Device = &device
	return deviceArgument(i, at, claimed.Socket), nil
}

// claimedMap is the map for AF_XDP sockets that a pod claims with an interface; empty where it claims none.
func claimedMap(l *running.Lab, nodeName, iface string) (string, error) {
	n := l.Index().Node(nodeName)
	if n == nil || !slices.ContainsFunc(n.Interfaces, func(i plan.Interface) bool { return i.Name == iface && i.SocketMap }) {
		return "", nil
	}
	pod, err := l.Place("").Pod(nodeName)
	if err != nil {
		return "", err
	}
	if pod.Ports[iface].SocketMap == "" {
		return "", fmt.Errorf("interface %s:%s: nines has no record of the map that its pod claims; nines apply recreates the pod, with the nines-cluster of this version (make setup-cluster)", nodeName, iface)
	}
	return pod.Ports[iface].SocketMap, nil
}
