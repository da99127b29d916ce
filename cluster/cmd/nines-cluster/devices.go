package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/device"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
)

// devicesCall holds the options of nines cluster devices.
type devicesCall struct {
	device.Service
	keep    string
	install string
}

func newDevicesCommand() *cobra.Command {
	var call devicesCall
	c := &cobra.Command{
		Use:   "devices",
		Short: "Give this node's ports to the kubelet as devices; the DaemonSet in cluster/deploy/devices runs it",
		Long: `Give this node's ports to the kubelet as devices, for clusters without dynamic resource
allocation. It is a device plugin: each parent of ports is a resource, such as
nines.dev/macvlan-eth1, of which pods ask for a number. Multus then calls the CNI plugin
nines with the port that a pod got.

A file says which ports nodes have, as for 'nines cluster ports'. Use the one or the other
on a node.`,
		Example: `  kubectl apply -k cluster/deploy/devices
  nines cluster devices --node n1 --ports ports.yaml --install /opt/cni/bin`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return call.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&call.Node, "node", os.Getenv("NODE_NAME"), "the node's name in the cluster")
	f.StringVar(&call.Sources, "ports", "/etc/nines/ports.yaml", "the file that says which ports nodes have")
	f.StringVar(&call.keep, "folder", port.Folder, "where it is kept who has which port")
	f.StringVar(&call.Switch, "switch", "", "the control socket of the node's switch (default: .switch in the folder)")
	f.StringVar(&call.Kubelet, "kubelet", "/var/lib/kubelet", "the kubelet's folder")
	f.StringVar(&call.install, "install", "", "a folder to put the CNI plugin into, as nines")
	return c
}

func (d devicesCall) run(ctx context.Context) error {
	if d.Node == "" {
		return exit.Wrongf("no node is named: give --node, or NODE_NAME in the environment")
	}
	if !filepath.IsAbs(d.keep) {
		return exit.Wrongf("--folder %s: give an absolute path, as the node has it", d.keep)
	}
	if d.Switch == "" {
		d.Switch = filepath.Join(d.keep, port.SwitchSocket)
	}
	d.Keeper = port.Keeper{Folder: d.keep, Note: func(text string) { slog.Warn(text) }}
	if d.install != "" {
		program, err := node.Program("nines-cni")
		if err != nil {
			return err
		}
		if err := device.Install(program, filepath.Join(d.install, "nines")); err != nil {
			return err
		}
	}
	return d.Run(ctx)
}
