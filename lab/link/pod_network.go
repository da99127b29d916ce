package link

import (
	"context"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// makePodNetwork makes nothing: a cluster's network joins its pods from their start, and so do the ports
// that they have claimed. It writes down what a measurement depends on: on which of the cluster's nodes
// each pod runs, and by which address it is reached.
func makePodNetwork(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	place := node.Place{StateDir: s.StateDir}
	if err := onOneNode(place, l); err != nil {
		return err
	}
	for _, e := range endpoints {
		pod, err := place.Pod(e.Node)
		if err != nil {
			return err
		}
		values := map[string]string{"cluster_node": pod.Host, "pod": pod.Namespace + "/" + pod.Name}
		port := pod.Ports[e.Interface]
		if port.Device != "" {
			values["port"] = port.Device
		}
		if port.SocketMap != "" {
			values["socket_map"] = port.SocketMap
		}
		if port.Socket != "" {
			values["socket"] = port.Socket
		} else if port.SocketMap != "" && port.Address == "" {
			// The engine needs none of the kernel's addresses.
		} else if values["address"], err = pod.AddressOf(e.Interface); err != nil {
			return err
		}
		if pod.Kernel != "" {
			values["kernel"] = pod.Kernel
		}
		s.record(e.Node, l.Name, e.Interface, values)
	}
	return nil
}

// onOneNode refuses pods on several of the cluster's nodes whose sockets reach only pods of their own node. It
// looks at all ends of the link, of which some may be there from before.
func onOneNode(place node.Place, l plan.Link) error {
	first, local := "", ""
	for _, e := range l.Endpoints {
		pod, err := place.Pod(e.Node)
		if err != nil {
			return err
		}
		if first == "" {
			first = pod.Host
		}
		if pod.Ports[e.Interface].Local {
			local = e.Name()
		}
		if local != "" && pod.Host != first {
			return exit.Wrongf("%s is a socket that reaches only pods of its node, and the link's pods are on the cluster's nodes %s and %s; place them on one node (host: %s)", local, first, pod.Host, first)
		}
	}
	return nil
}
