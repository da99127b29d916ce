package main

import (
	"context"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/dra"
)

// portsCall holds the options of nines cluster ports.
type portsCall struct {
	onNode
	givenPorts
	runtime string
	cdi     string
	dranet  string
}

func newPortsCommand() *cobra.Command {
	var call portsCall
	c := &cobra.Command{
		Use:   "ports",
		Short: "Give this node's ports to pods; the DaemonSet in cluster/deploy/ports runs it",
		Long: `Give this node's ports to pods by dynamic resource allocation: publish them as devices with
the measured latency of their tier, and put a claim's ports into its pod. It is the kubelet's
driver ` + dra.DriverName + `, and an NRI plugin of the container runtime.

A file lists the nodes' ports. The ports of a tier "switch" are vhost-user sockets of
nines-engine, which runs beside it as the DaemonSet nines-switch.`,
		Example: `  kubectl apply -k cluster/deploy/ports
  nines cluster ports --node n1 --kubeconfig kubeconfig --ports ports.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return call.run(c.Context()) },
	}
	f := c.Flags()
	call.onNode.flags(c)
	call.givenPorts.flags(c)
	f.StringVar(&call.runtime, "nri", "/run/nri/nri.sock", "the container runtime's NRI socket")
	f.StringVar(&call.cdi, "cdi", "/run/cdi", "the container runtime's CDI folder")
	f.StringVar(&call.dranet, "dranet", dra.DranetSocket, "the socket on which dranet asks for latency figures; empty for none")
	return c
}

func (p portsCall) run(ctx context.Context) error {
	if err := checkNode(p.node); err != nil {
		return err
	}
	keeper, err := p.keeper()
	if err != nil {
		return err
	}
	_, kube, objects, err := p.clients()
	if err != nil {
		return err
	}
	service := &dra.Service{
		Driver: &dra.Driver{Node: p.node, Keeper: keeper, CDI: p.cdi, Exists: dra.ExistsIn(kube)},
		Kube:   kube, Objects: objects, Sources: p.sources, Switch: p.control, Kubelet: p.kubelet, Runtime: p.runtime,
		Dranet: p.dranet,
	}
	return service.Run(ctx)
}
