package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// startRemoteEngine starts the engine of a node on a cluster, and its app. The process on this host
// that serves its socket ends when the engine does, and with it the engine.
func (b *builder) startRemoteEngine(ctx context.Context, n plan.Node, r node.Remote) error {
	socket := b.EngineSocket(n.Name)
	if err := state.AbsentIsFine(os.Remove(socket)); err != nil {
		return err
	}
	token := b.journal.Token("engine/" + n.Name)
	var relay proc.Identity
	err := process.Make(b.journal, journal.Step{Node: n.Name, Name: running.EngineStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.Create(b.EngineLog(n.Name))
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		cmd, err := r.ServeEngine(b.place(), n, socket)
		if err == nil {
			relay, err = node.Spawn(cmd, token, log)
		}
		return relay, err
	})
	if err != nil {
		return err
	}
	return b.serve(ctx, n, relay, node.GuestPatience)
}

// useAddresses replaces endpoints by the addresses that their pods have: a plan cannot know them.
func (l *Lab) useAddresses(port *client.Port) error {
	for _, address := range []*string{&port.LocalIP, &port.PeerIP} {
		name, iface, isEndpoint := strings.Cut(*address, ":")
		n := l.Plan().Node(name)
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
func (l *Lab) claimedDevice(nodeName string, i plan.Interface, at int) (string, error) {
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
func (l *Lab) claimedMap(nodeName, iface string) (string, error) {
	n := l.Plan().Node(nodeName)
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

// remoteDevices are the interfaces of a pod, as far as they are known without asking the cluster.
func (l *Lab) remoteDevices(n plan.Node) ([]link.Device, error) {
	pod, err := l.Place("").Pod(n.Name)
	if err != nil {
		return nil, err
	}
	devices := []link.Device{{Name: spec.PodInterface, State: "unknown", Addresses: []string{pod.Address}}}
	for _, name := range slices.Sorted(maps.Keys(pod.Ports)) {
		port := pod.Ports[name]
		devices = append(devices, link.Device{Name: name, State: "unknown", Addresses: []string{cmp.Or(port.Address, port.Socket)}})
	}
	return devices, nil
}

// Remotes says of each node on a cluster where it runs, for the notes of a result.
func (l *Lab) Remotes() ([]string, error) {
	var list []string
	var failures []error
	for _, n := range l.Plan().Nodes {
		if !n.Remote() {
			continue
		}
		pod, err := l.Place("").Pod(n.Name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		list = append(list, fmt.Sprintf("%s is pod %s/%s on the cluster's node %s; what a hypervisor or a quota takes from its CPUs cannot be seen from here",
			n.Name, pod.Namespace, pod.Name, pod.Host))
		for _, i := range n.Interfaces {
			if i.Device != nil || i.SocketMap {
				list = append(list, n.Name+" bypasses the kernel by what its pod claims: there is no baseline, as a pod alone has only its kernel's loopback")
				break
			}
		}
	}
	return list, errors.Join(failures...)
}
