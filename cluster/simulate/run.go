package simulate

import (
	"fmt"
	"math/rand/v2"

	"nines.dev/nines/cluster/request"
)

// limits are what pods ask of the p99, and how many of ten do: what only a port gives, what the kernel gives on an
// undisturbed node, and on most.
var limits = []struct {
	text  string
	ns    float64
	tenth int
}{{"", 0, 7}, {"p99 < 50us", 50e3, 1}, {"p99 < 600us", 600e3, 1}, {"p99 < 1500us", 1500e3, 1}}

// Pods makes pods in a random order: seven of ten without a latency request.
func Pods(n, zones int, random *rand.Rand) ([]Pod, error) {
	var kinds []Pod
	for _, l := range limits {
		pod := Pod{LimitNs: l.ns}
		if l.text != "" {
			var err error
			if pod.Request, err = request.Parse(l.text); err != nil {
				return nil, fmt.Errorf("latency request %q: %w", l.text, err)
			}
		}
		for range l.tenth {
			kinds = append(kinds, pod)
		}
	}
	pods := make([]Pod, n)
	for i := range pods {
		pods[i] = kinds[i%len(kinds)]
		pods[i].PeerZone = random.IntN(zones)
	}
	random.Shuffle(n, func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods, nil
}

// Outcome is what a rule made of the pods.
type Outcome struct {
	Rule string `json:"rule"`
	// Requests are the pods with one; Held those that got it, Broken those that were placed and did
	// not, Refused those that were not placed.
	Requests int `json:"requests"`
	Held     int `json:"held"`
	Broken   int `json:"broken"`
	Refused  int `json:"refused"`
	// Wasted are ports that nobody can have: free, on a node that is full; and those under a pod
	// whose request a slower tier of the same node would have held.
	Wasted int `json:"wasted"`
	// OnFast are the pods without a latency request on nodes with ports.
	OnFast int `json:"onFast"`
	Ports  int `json:"ports"`
}

// Run places the pods by each rule.
func Run(nodes []Node, pods []Pod, seed uint64) []Outcome {
	var out []Outcome
	for _, one := range Rules {
		outcome := run(nodes, pods, one.place, rand.New(rand.NewPCG(seed, 1)))
		outcome.Rule = one.Name
		out = append(out, outcome)
	}
	return out
}

// looked is the part of nodes that a scheduler looks at for each pod. In a cluster of 5,000
// Kubernetes stops when a tenth suit (percentageOfNodesToScore, 50 − nodes/125).
const looked = 0.1

// fewest is how many it looks at in any cluster (minFeasibleNodesToFind).
const fewest = 100

func run(nodes []Node, pods []Pod, by rule, random *rand.Rand) Outcome {
	all := make([]*state, len(nodes))
	var o Outcome
	for i := range nodes {
		all[i] = &state{Node: &nodes[i]}
		o.Ports += nodes[i].Ports
	}
	start := 0
	for i := range pods {
		p := &pods[i]
		chosen := choose(p, all, &start, by, random)
		if p.Request != nil {
			o.Requests++
		}
		if chosen.node == nil {
			if p.Request != nil {
				o.Refused++
			}
			continue
		}
		o.count(p, chosen)
	}
	for _, n := range all {
		if n.pods >= n.Room {
			o.Wasted += n.Ports - n.ports
		}
	}
	return o
}

// choose looks at nodes with room from where it ended before, a part at a time, until the rule finds
// one; as Kubernetes looks on until enough nodes suit.
func choose(p *Pod, all []*state, start *int, by rule, random *rand.Rand) place {
	part := max(int(looked*float64(len(all))), fewest)
	for seen := 0; seen < len(all); {
		var among []*state
		for ; seen < len(all) && len(among) < part; seen++ {
			if n := all[*start%len(all)]; n.pods < n.Room {
				among = append(among, n)
			}
			*start++
		}
		if chosen := by(p, among, random); chosen.node != nil {
			return chosen
		}
	}
	return place{}
}

func (o *Outcome) count(p *Pod, at place) {
	at.node.pods++
	if at.tier == tierPort {
		at.node.ports++
	}
	switch {
	case p.Request == nil:
		if at.node.Ports > 0 {
			o.OnFast++
		}
	case at.node.Truth[at.tier] < p.LimitNs:
		o.Held++
		if at.tier == tierPort {
			for _, tier := range tiers[1:] {
				if ns, has := at.node.Truth[tier.name]; has && ns < p.LimitNs {
					o.Wasted++
					break
				}
			}
		}
	default:
		o.Broken++
	}
}
