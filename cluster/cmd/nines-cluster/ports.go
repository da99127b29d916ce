package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
)

// portsCall holds the options of nines cluster ports.
type portsCall struct {
	agentCall // node and kubeconfig, and how to reach the API server
	sources   string
	keep      string
	control   string
	kubelet   string
	runtime   string
	cdi       string
}

func newPortsCommand() *cobra.Command {
	var call portsCall
	c := &cobra.Command{
		Use:   "ports",
		Short: "Give this node's ports to pods; the DaemonSet in cluster/deploy/ports runs it",
		Long: `Give this node's ports to pods by dynamic resource allocation: publish them as devices with
what was measured of their tier, and put those that a claim has got into its pod. It is the
driver ` + dra.DriverName + ` of the kubelet, and a plugin of the container runtime by NRI.

A file says which ports nodes have. The ports of a tier "switch" are vhost-user sockets of
nines-engine, which runs beside it as the DaemonSet nines-switch.`,
		Example: `  kubectl apply -k cluster/deploy/ports
  nines cluster ports --node n1 --kubeconfig kubeconfig --ports ports.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return call.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&call.node, "node", os.Getenv("NODE_NAME"), "the node's name in the cluster")
	f.StringVar(&call.kubeconfig, "kubeconfig", "", "how to reach the API server (default: as a pod does)")
	f.StringVar(&call.sources, "ports", "/etc/nines/ports.yaml", "the file that says which ports nodes have")
	f.StringVar(&call.keep, "folder", port.Folder, "where it is kept who has which port")
	f.StringVar(&call.control, "switch", "", "the control socket of the node's switch (default: .switch in the folder)")
	f.StringVar(&call.kubelet, "kubelet", "/var/lib/kubelet", "the kubelet's folder")
	f.StringVar(&call.runtime, "nri", "/run/nri/nri.sock", "the socket by which the container runtime serves NRI")
	f.StringVar(&call.cdi, "cdi", "/run/cdi", "the folder in which the container runtime looks for devices (CDI)")
	return c
}

func (p portsCall) run(ctx context.Context) error {
	if p.node == "" {
		return exit.Wrongf("no node is named: give --node, or NODE_NAME in the environment")
	}
	if !filepath.IsAbs(p.keep) {
		return exit.Wrongf("--folder %s: give an absolute path, as the node has it", p.keep)
	}
	if p.control == "" {
		p.control = filepath.Join(p.keep, port.SwitchSocket)
	}
	config, err := p.access()
	if err != nil {
		return exit.Wrongf("find the API server: %w; give --kubeconfig", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := client.New(config)
	if err != nil {
		return err
	}
	note := func(text string) { slog.Warn(text) }
	service := &dra.Service{
		Driver: &dra.Driver{Node: p.node, Keeper: port.Keeper{Folder: p.keep, Note: note}, CDI: p.cdi, Exists: dra.ExistsIn(kube)},
		Kube:   kube, Objects: objects, Sources: p.sources, Switch: p.control, Kubelet: p.kubelet, Runtime: p.runtime,
	}
	return service.Run(ctx)
}
