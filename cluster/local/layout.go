package local

import (
	"fmt"
	"net/netip"
	"strconv"

	"nines.dev/nines/exit"
)

// Layout says which parts a cluster has and what addresses. It is pure: the same name and number
// of nodes give the same layout.
//
// All addresses are from 198.18.0.0/15, which is set aside for benchmarks (RFC 2544, appendix C;
// RFC 6890). They are in the cluster's namespaces only, so that clusters side by side may have the
// same ones.
type Layout struct {
	Name  string
	Nodes []Node
	// Multus has pods get the networks that their annotations name, besides the cluster's.
	Multus bool
}

// Node is a node of the cluster.
type Node struct {
	Name string
	// Number is from 1.
	Number int
	// Address is the node's, in Network.
	Address netip.Addr
	// Pods is the network of the node's pods.
	Pods netip.Prefix
}

// MaxNodes is how many nodes a cluster may have: a node takes 175 MiB without pods, and one
// machine has no more than this of them to teach.
const MaxNodes = 32

// ControlName is the name of the part with the control plane.
const ControlName = "control"

var (
	// Network joins the parts.
	Network = netip.MustParsePrefix("198.18.0.0/24")
	// ControlAddress is the control plane's in it.
	ControlAddress = netip.MustParseAddr("198.18.0.1")
	// Services is the network of services.
	Services = netip.MustParsePrefix("198.19.0.0/24")
	// APIService is the API server's service, "kubernetes": always the first address of Services.
	// The control plane's namespace has it itself, so that pods reach the API server without a
	// kube-proxy on their node.
	APIService = netip.MustParseAddr("198.19.0.1")
)

// NewLayout lays a cluster out.
func NewLayout(name string, nodes int) (Layout, error) {
	if err := CheckName(name); err != nil {
		return Layout{}, err
	}
	if nodes < 1 || nodes > MaxNodes {
		return Layout{}, exit.Wrongf("--nodes %d: a cluster has 1 to %d nodes", nodes, MaxNodes)
	}
	l := Layout{Name: name}
	for i := 1; i <= nodes; i++ {
		l.Nodes = append(l.Nodes, Node{
			Name:    "n" + strconv.Itoa(i),
			Number:  i,
			Address: netip.AddrFrom4([4]byte{198, 18, 0, byte(10 + i)}),
			Pods:    netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i), 0}), 24),
		})
	}
	return l, nil
}

// Group is the cluster's control group, in every hierarchy; each node has one below it.
func (l Layout) Group() string { return "nines-kube-" + l.Name }

// device is the control plane's end of a node's link to the bridge.
func (n Node) device() string { return "to-" + n.Name }

// gateway is the address of the node in its network of pods: the first.
func (n Node) gateway() netip.Addr { return n.Pods.Addr().Next() }

// onNetwork is an address with Network's length.
func onNetwork(a netip.Addr) string { return fmt.Sprintf("%s/%d", a, Network.Bits()) }
