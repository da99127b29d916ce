package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
)

// onNode is the node that a program of a DaemonSet serves, and how it reaches the API server.
type onNode struct{ node, kubeconfig string }

func (n *onNode) flags(c *cobra.Command) {
	nodeFlag(c, &n.node)
	c.Flags().StringVar(&n.kubeconfig, "kubeconfig", "", "how to reach the API server (default: as a pod does)")
}

func nodeFlag(c *cobra.Command, node *string) {
	c.Flags().StringVar(node, "node", os.Getenv("NODE_NAME"), "the node's name in the cluster")
}

func checkNode(node string) error {
	if node == "" {
		return exit.Wrongf("name the node with --node, or with NODE_NAME in the environment")
	}
	return nil
}

// clients reach the API server.
func (n onNode) clients() (*rest.Config, kubernetes.Interface, *client.Client, error) {
	config, err := n.access()
	if err != nil {
		return nil, nil, nil, exit.Wrongf("find the API server: %w; give --kubeconfig", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, err
	}
	objects, err := client.New(config)
	return config, kube, objects, err
}

func (n onNode) access() (*rest.Config, error) {
	if n.kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", n.kubeconfig)
}

// givenPorts are the ports that a node gives to pods, and where it is kept who has them.
type givenPorts struct{ sources, keep, control, kubelet string }

func (g *givenPorts) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&g.sources, "ports", "/etc/nines/ports.yaml", "the file of the nodes' ports")
	f.StringVar(&g.keep, "folder", port.Folder, "the folder that records which pod has which port")
	f.StringVar(&g.control, "switch", "", "the control socket of the node's switch (default: .switch in the folder)")
	f.StringVar(&g.kubelet, "kubelet", "/var/lib/kubelet", "the kubelet's folder")
}

// keeper is the one of the folder; it sets the default of the switch.
func (g *givenPorts) keeper() (port.Keeper, error) {
	if !filepath.IsAbs(g.keep) {
		return port.Keeper{}, exit.Wrongf("--folder %s: give an absolute path on the node", g.keep)
	}
	if g.control == "" {
		g.control = filepath.Join(g.keep, port.SwitchSocket)
	}
	return port.Keeper{Folder: g.keep, Note: func(text string) { slog.Warn(text) }}, nil
}
