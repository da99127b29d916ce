package peer

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Peer is a node with an agent.
type Peer struct {
	Node    string
	Zone    string
	Address netip.Addr
}

// Service is the name of the agents' headless service: its endpoints are the agents, each with its node and
// zone. Reading them is cheaper than reading pods and nodes.
const Service = "nines-agent"

// Find lists the nodes whose agents are ready. It skips agents that have only an IPv6 address, because the
// engine supports only IPv4.
func Find(ctx context.Context, kube kubernetes.Interface, namespace string) ([]Peer, error) {
	list, err := kube.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discovery.LabelServiceName + "=" + Service,
		// The API server's cache is recent enough.
		ResourceVersion: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("list the agents of other nodes: %w", err)
	}
	return peersOf(list.Items), nil
}

func peersOf(of []discovery.EndpointSlice) []Peer {
	var peers []Peer
	for _, slice := range of {
		if slice.AddressType != discovery.AddressTypeIPv4 {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.NodeName == nil || len(e.Addresses) == 0 || e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			address, err := netip.ParseAddr(e.Addresses[0])
			if err != nil {
				continue
			}
			p := Peer{Node: *e.NodeName, Address: address}
			if e.Zone != nil {
				p.Zone = *e.Zone
			}
			peers = append(peers, p)
		}
	}
	// A node may be in two slices while they change.
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Or(cmp.Compare(a.Node, b.Node), a.Address.Compare(b.Address)) })
	return slices.CompactFunc(peers, func(a, b Peer) bool { return a.Node == b.Node })
}

// Of returns the peer of a node.
func Of(peers []Peer, node string) (Peer, bool) {
	at := slices.IndexFunc(peers, func(p Peer) bool { return p.Node == node })
	if at < 0 {
		return Peer{}, false
	}
	return peers[at], true
}

// Order sorts the peers that a node asks: first those asked longest ago, and among those never asked first the
// ones of its own zone. So each gets its turn. In each pair of nodes only one asks: a round trip is the same
// from both ends.
func Order(self string, all []Peer, asked map[string]time.Time) []Peer {
	own, _ := Of(all, self)
	var order []Peer
	for _, p := range all {
		if p.Node != self && asks(self, p.Node) {
			order = append(order, p)
		}
	}
	far := func(p Peer) int {
		if p.Zone == own.Zone {
			return 0
		}
		return 1
	}
	slices.SortFunc(order, func(a, b Peer) int {
		return cmp.Or(asked[a.Node].Compare(asked[b.Node]), cmp.Compare(far(a), far(b)),
			// Nodes do not all begin with the same peer.
			cmp.Compare(hash(self, a.Node), hash(self, b.Node)), cmp.Compare(a.Node, b.Node))
	})
	return order
}

// asks reports whether self is the one of the two nodes that asks: each node asks half of the others.
func asks(self, other string) bool {
	first, second := min(self, other), max(self, other)
	return (hash(first, second)%2 == 0) == (self == first)
}

func hash(a, b string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a + "/" + b)) // cannot fail
	// The lowest bit of FNV is the parity of its input's lowest bits: mix the others in.
	sum := h.Sum64()
	return sum ^ sum>>32 ^ sum>>17
}
