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
	first := "" // where the pods of a switch within a node are
	for _, e := range endpoints {
		pod, err := node.Place{StateDir: s.StateDir}.Pod(e.Node)
		if err != nil {
			return err
		}
		values := map[string]string{"cluster_node": pod.Host, "pod": pod.Namespace + "/" + pod.Name}
		port := pod.Ports[e.Interface]
		if port.Device != "" {
			values["port"] = port.Device
		}
		if port.Socket != "" {
			values["socket"] = port.Socket
		} else if values["address"], err = pod.AddressOf(e.Interface); err != nil {
			return err
		}
		if port.Local {
			if first == "" {
				first = pod.Host
			}
			if pod.Host != first {
				return exit.Wrongf("the ports that its pods claim are of a switch on each of the cluster's nodes %s and %s, and no packet gets from one to the other; place the pods on one node (host: %s)", first, pod.Host, first)
			}
		}
		if pod.Kernel != "" {
			values["kernel"] = pod.Kernel
		}
		s.record(e.Node, l.Name, e.Interface, values)
	}
	return nil
}
