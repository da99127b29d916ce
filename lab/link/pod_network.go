package link

import (
	"context"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// makePodNetwork makes nothing: a cluster's network joins its pods from their start, and so do the ports
// that they have claimed. It writes down what a measurement depends on: on which of the cluster's nodes
// each pod runs, and by which address it is reached.
func makePodNetwork(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	for _, e := range endpoints {
		pod, err := node.Place{StateDir: s.StateDir}.Pod(e.Node)
		if err != nil {
			return err
		}
		address, err := pod.AddressOf(e.Interface)
		if err != nil {
			return err
		}
		values := map[string]string{"address": address, "cluster_node": pod.Host, "pod": pod.Namespace + "/" + pod.Name}
		if port, claimed := pod.Ports[e.Interface]; claimed {
			values["port"] = port.Device
		}
		if pod.Kernel != "" {
			values["kernel"] = pod.Kernel
		}
		s.record(e.Node, l.Name, e.Interface, values)
	}
	return nil
}
