package simulate

import (
	"math/rand/v2"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// Pod is one to place. Without a latency request LimitNs is 0.
type Pod struct {
	LimitNs float64
	Request *request.Request
	// PeerZone is where those are that it speaks to.
	PeerZone int
}

// state is a node's while pods come.
type state struct {
	*Node
	pods, ports int
}

// place is where a rule puts a pod: a node and its tier there, or nowhere.
type place struct {
	node *state
	tier string
}

// rule chooses among nodes with room, in an order that is the same for all rules.
type rule func(p *Pod, among []*state, random *rand.Rand) place

// Rules are those that are compared.
var Rules = []struct {
	Name  string
	place rule
}{{"default scheduler", byRoom}, {"thesis", byThesis}, {"zone costs (Diktyo)", byCost}, {"measured (nines)", byFigures}}

// fastest is the best tier that is free on a node: what a pod gets where the rule does not say.
// All but ports are for as many as come.
func fastest(n *state) string {
	for _, tier := range tiers {
		if _, has := n.Truth[tier.name]; has && (tier.name != tierPort || n.ports < n.Ports) {
			return tier.name
		}
	}
	return ""
}

// byRoom takes the node with the fewest pods. A pod with a latency request takes the best that it finds there.
func byRoom(p *Pod, among []*state, _ *rand.Rand) place {
	best := least(among, func(n *state) int { return n.pods })
	if best == nil || p.Request == nil {
		return place{best, plain}
	}
	return place{best, fastest(best)}
}

// byCost takes the zone that is nearest to the pod's peers, and there the fewest pods.
func byCost(p *Pod, among []*state, _ *rand.Rand) place {
	if p.Request == nil {
		return byRoom(p, among, nil)
	}
	best := least(among, func(n *state) int {
		cost := n.Zone - p.PeerZone
		return max(cost, -cost)*1000 + n.pods
	})
	if best == nil {
		return place{}
	}
	return place{best, fastest(best)}
}

// byThesis takes its three groups: a port below 5 ms, Open vSwitch below 10 ms, else a node
// without ports; at random within. Boundaries are taken as included, which its listing forgot.
func byThesis(p *Pod, among []*state, random *rand.Rand) place {
	us := p.LimitNs / 1000
	var group []*state
	tier := plain
	for _, n := range among {
		_, xdp := n.Truth["xdp"]
		switch {
		case p.Request == nil, us >= request.ThesisDefaultUs:
			if n.Ports == 0 {
				group = append(group, n)
			}
		case us >= request.ThesisOVSUs:
			if tier = "xdp"; xdp {
				group = append(group, n)
			}
		case n.ports < n.Ports:
			// Below 800 µs it refuses; it would place nothing of what is asked for here. So its
			// ports are counted as fast enough for all.
			tier = tierPort
			group = append(group, n)
		}
	}
	if len(group) == 0 {
		return place{}
	}
	return place{group[random.IntN(len(group))], tier}
}

// byFigures is the plugin's rule: Filter and Score of package nodefit, then the fewest pods, in the
// weights of cluster/deploy/scheduler.
func byFigures(p *Pod, among []*state, _ *rand.Rand) place {
	const weight = 20
	var best place
	bestScore := int64(-1)
	for _, n := range among {
		fastest, _ := nodefit.Best(n.Figures, now)
		spare := nodefit.Spare(fastest, n.Labels)
		score, tier := spare, plain
		if p.Request != nil {
			figures := n.Figures
			if n.ports >= n.Ports && n.Ports > 0 {
				figures = withoutPorts(figures)
			}
			q := nodefit.Question{Request: p.Request, Now: now, Of: func(string) []nodefit.Figure { return figures }}
			answer := q.Ask(nodefit.Node{Name: n.Name})
			if !answer.Suits() {
				continue
			}
			score, tier = nodefit.Score(&answer, p.Request, spare), answer.Tier
		}
		if total := weight*score + int64(nodefit.MaxScore*(n.Room-n.pods)/n.Room); total > bestScore {
			best, bestScore = place{n, tier}, total
		}
	}
	return best
}

// withoutPorts leaves out the tier of which all ports are taken: a claim of one would not be met.
func withoutPorts(figures []nodefit.Figure) []nodefit.Figure {
	var out []nodefit.Figure
	for _, f := range figures {
		if f.Tier != tierPort {
			out = append(out, f)
		}
	}
	return out
}

func least(among []*state, of func(*state) int) *state {
	var best *state
	for _, n := range among {
		if best == nil || of(n) < of(best) {
			best = n
		}
	}
	return best
}
