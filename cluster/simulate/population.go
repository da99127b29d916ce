package simulate

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
)

// Node is a node and what is true of it.
type Node struct {
	Name    string
	Labels  map[string]string
	Zone    int
	Figures []nodefit.Figure
	// Truth is the p99 that a pod gets by each tier while it runs, in ns.
	Truth map[string]float64
	// Room is how many pods it takes, and Ports how many of them by a port of its own.
	Room, Ports int
}

// Shape is how a population is put together of recorded figures.
type Shape struct {
	Nodes int
	Zones int
	// Disturbed is the part of nodes that get other work after they were measured, and Old the part whose figures are
	// too old to count.
	Disturbed, Old float64
}

// Usual is a cluster of 5,000 nodes, of which a tenth have ports.
func Usual() Shape { return Shape{Nodes: 5000, Zones: 20, Disturbed: 0.05, Old: 0.03} }

// tierPort is the tier whose ports pods have for themselves.
const tierPort = "sriov"

// plain is the tier of a pod that asks for none: the cluster's own network.
const plain = "bridge"

// tiers are from the fastest to the slowest, with the part of nodes that have them.
var tiers = []struct {
	name string
	part float64
}{{tierPort, 0.1}, {"xdp", 0.2}, {plain, 1}, {"vxlan", 1}}

// kernelHosts are what else runs on the nodes, with its part of them (recording.yaml), and portHosts where the
// published captures of a port come from.
var (
	kernelHosts = []share{{"alone", 0.7}, {"packets", 0.1}, {"neighbour", 0.1}, {"builds", 0.1}}
	portHosts   = []share{{"hw", 0.5}, {"vm", 0.5}}
)

type share struct {
	host string
	part float64
}

func draw(of []share, random *rand.Rand) string {
	at := random.Float64()
	for _, s := range of[:len(of)-1] {
		if at -= s.part; at < 0 {
			return s.host
		}
	}
	return of[len(of)-1].host
}

// measuredAt is a time at which all was measured.
var measuredAt = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// now is when pods come.
var now = measuredAt.Add(5 * time.Minute)

// moment is a time at which a host was recorded. A node publishes the figures of the trials until that time, and its
// pods get the next trial: of the same host, or of another one if its work has changed.
type moment struct {
	host, next string
	at         int
}

func pick(r Recordings, of []share, changed bool, random *rand.Rand, tiers ...string) moment {
	m := moment{host: draw(of, random)}
	m.next = m.host
	for changed && m.next == m.host {
		m.next = draw(of, random)
	}
	m.at = window - 1 + random.IntN(min(r.moments(m.host, tiers...), r.moments(m.next, tiers...)))
	return m
}

// Populate makes the nodes. All tiers of a node that the kernel carries are of one moment.
func Populate(r Recordings, s Shape, random *rand.Rand) []Node {
	nodes := make([]Node, s.Nodes)
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("n%04d", i), Zone: i % s.Zones, Room: 8, Truth: map[string]float64{}, Labels: map[string]string{}}
		has, old, changed := random.Float64(), random.Float64() < s.Old, random.Float64() < s.Disturbed
		kernel := pick(r, kernelHosts, changed, random, "xdp", plain, "vxlan")
		port := pick(r, portHosts, false, random, tierPort)
		var measured []v1alpha1.Figure
		for _, tier := range tiers {
			if has >= tier.part {
				continue
			}
			m := kernel
			switch tier.name {
			case tierPort:
				m = port
				n.Ports = 4
				n.Labels[nodefit.LabelPorts] = strconv.Itoa(n.Ports)
			case "xdp": // what the thesis's second label stands for: a way around the kernel's stack, for all pods
				n.Labels[nodefit.LabelOVS] = "true"
			}
			measured = append(measured, published(tier.name, r[tier.name][m.host], m.at, old))
			n.Truth[tier.name] = float64(r[tier.name][m.next][m.at+1].P99Ns)
		}
		n.Figures = nodefit.Read(measured)
		nodes[i] = n
	}
	return nodes
}

// published is a figure as an agent publishes it.
func published(tier string, of []Recorded, at int, old bool) v1alpha1.Figure {
	count, p99Ns, upperNs := figure(of, at)
	f := v1alpha1.Figure{
		Tier: tier, Way: v1alpha1.OneWay, Count: count, Verdict: v1alpha1.Clean,
		Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: p99Ns, UpperNs: &upperNs}},
		MeasuredAt:  metav1.NewTime(measuredAt), ValidUntil: metav1.NewTime(measuredAt.Add(15 * time.Minute)),
	}
	if old {
		f.ValidUntil = metav1.NewTime(now)
	}
	return f
}
