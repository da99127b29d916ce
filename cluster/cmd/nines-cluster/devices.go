package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/device"
	"nines.dev/nines/lab/node"
)

// devicesCall holds the options of nines cluster devices.
type devicesCall struct {
	node string
	givenPorts
	install string
}

func newDevicesCommand() *cobra.Command {
	var call devicesCall
	c := &cobra.Command{
		Use:   "devices",
		Short: "Give this node's ports to the kubelet as devices; the DaemonSet in cluster/deploy/devices runs it",
		Long: `Give this node's ports to the kubelet as devices, for clusters without dynamic resource
allocation. It is a device plugin: each parent of ports is a resource, such as
nines.dev/macvlan-eth1, and a pod requests a number of ports. Multus then calls the CNI
plugin nines with the port that the pod got.

A file lists the nodes' ports, as for 'nines cluster ports'. Use only one of the two on a
node.`,
		Example: `  kubectl apply -k cluster/deploy/devices
  nines cluster devices --node n1 --ports ports.yaml --install /opt/cni/bin`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return call.run(c.Context()) },
	}
	f := c.Flags()
	nodeFlag(c, &call.node)
	call.givenPorts.flags(c)
	f.StringVar(&call.install, "install", "", "the folder to install the CNI plugin into, as nines")
	return c
}

func (d devicesCall) run(ctx context.Context) error {
	if err := checkNode(d.node); err != nil {
		return err
	}
	keeper, err := d.keeper()
	if err != nil {
		return err
	}
	if d.install != "" {
		program, err := node.Program("nines-cni")
		if err != nil {
			return err
		}
		if err := device.Install(program, filepath.Join(d.install, "nines")); err != nil {
			return err
		}
	}
	service := device.Service{Node: d.node, Sources: d.sources, Switch: d.control, Kubelet: d.kubelet, Keeper: keeper}
	return service.Run(ctx)
}
