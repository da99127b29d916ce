package link

import (
	"context"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// makePodNetwork makes nothing: a cluster's network joins its pods from their start. It writes down
// what a measurement depends on: on which of the cluster's nodes each pod runs, and by which address
// it is reached.
func makePodNetwork(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	for _, e := range endpoints {
		pod, err := node.Place{StateDir: s.StateDir}.Pod(e.Node)
		if err != nil {
			return err
		}
		values := map[string]string{"address": pod.Address, "cluster_node": pod.Host, "pod": pod.Namespace + "/" + pod.Name}
		if pod.Kernel != "" {
			values["kernel"] = pod.Kernel
		}
		s.record(e.Node, l.Name, e.Interface, values)
	}
	return nil
}
