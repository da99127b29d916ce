package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/figure"
)

// Node is a node and what is true of it.
type Node struct {
	Name    string
	Labels  map[string]string
	Zone    int
	Figures []figure.Figure
	// Truth is the p99.99 that a pod gets by each tier while it runs, in ns.
	Truth map[string]float64
	// Room is how many pods it takes, and Ports how many of them by a port of its own.
	Room, Ports int
}

// Shape is how a population is put together.
type Shape struct {
	Nodes int
	Zones int
	// Repeat is the spread (sigma of the logarithm) of a node's figure from one measurement to the
	// next, and Host that of nodes of the same hardware from each other.
	Repeat, Host float64
	// Disturbed is the part of nodes where something has changed since they were measured, and
	// Slower what it costs; Old is the part whose figures are too old to count.
	Disturbed, Slower, Old float64
}

// Usual is a cluster of 5,000 nodes in which a tenth have ports that bypass the kernel.
func Usual() Shape {
	return Shape{Nodes: 5000, Zones: 20, Repeat: 0.1, Host: 0.35, Disturbed: 0.05, Slower: 4, Old: 0.03}
}

// tiers are the p99.99 in ns at which nodes of a tier scatter. That of sriov is the published one
// of a forwarder in a virtual machine and on hardware (gallenmu/low-latency, dpdk-l2fwd: 17,375
// and 12,462 ns); those of the kernel's tiers are round numbers of the order that nines measures
// on a host that is not tuned. The comparison of rules rests on their order, not on their values.
var tiers = []struct {
	name    string
	p9999Ns float64
	// part is the part of nodes that have it.
	part float64
}{
	{"sriov", 17_375, 0.1}, {"ovs-dpdk", 60_000, 0.2}, {"veth", 400_000, 1}, {"vxlan", 2_000_000, 1},
}

// measuredAt is a time at which all was measured.
var measuredAt = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// now is when pods come.
var now = measuredAt.Add(5 * time.Minute)

// Populate makes the nodes.
func Populate(s Shape, random *rand.Rand) []Node {
	nodes := make([]Node, s.Nodes)
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("n%04d", i), Zone: i % s.Zones, Room: 8, Truth: map[string]float64{}, Labels: map[string]string{}}
		has, host := random.Float64(), math.Exp(random.NormFloat64()*s.Host)
		slower, old := 1.0, random.Float64() < s.Old
		if random.Float64() < s.Disturbed {
			slower = s.Slower
		}
		var measured []v1alpha1.Figure
		for _, tier := range tiers {
			if has >= tier.part {
				continue
			}
			at := tier.p9999Ns * host
			n.Truth[tier.name] = at * slower * math.Exp(random.NormFloat64()*s.Repeat)
			measured = append(measured, published(tier.name, at*math.Exp(random.NormFloat64()*s.Repeat), old))
			switch tier.name {
			case "sriov":
				n.Ports = 4
				n.Labels[figure.LabelPorts] = strconv.Itoa(n.Ports)
			case "ovs-dpdk":
				n.Labels[figure.LabelOVS] = "true"
			}
		}
		n.Figures = figure.Read(measured)
		nodes[i] = n
	}
	return nodes
}

// published is a figure as an agent makes it of a million packets. Its bound is 5 % above: what
// package analysis/confidence gives for the p99.99 of so many in a tail that halves each decade.
func published(tier string, ns float64, old bool) v1alpha1.Figure {
	value := int64(ns)
	upper := value * 105 / 100
	f := v1alpha1.Figure{
		Tier: tier, Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean,
		Percentiles: []v1alpha1.Percentile{{P: "99.99", ValueNs: value, UpperNs: &upper}},
		MeasuredAt:  metav1.NewTime(measuredAt), ValidUntil: metav1.NewTime(measuredAt.Add(15 * time.Minute)),
	}
	if old {
		f.ValidUntil = metav1.NewTime(now)
	}
	return f
}
