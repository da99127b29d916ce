package nodefit

import (
	"math"
	"slices"
	"strconv"
	"time"

	"nines.dev/nines/cluster/request"
)

// Question is a pod's latency request at a time, made ready to be asked of many nodes.
type Question struct {
	Request *request.Request
	// Peers are the nodes that Request.To names or selects, nil without it.
	Peers []string
	// Of returns what is measured at a node; nil for nothing.
	Of  func(node string) []Figure
	Now time.Time
}

// Node is one that the question is asked of.
type Node struct {
	Name   string
	Labels map[string]string
	// PortsTaken are the ports of the label dpdk that other pods have.
	PortsTaken int
}

// Answer is what a node has to a latency request.
type Answer struct {
	Node string
	// Met reports whether the node holds an alternative of the request. A pod may go to a node that
	// does not by Fallback only: its request ends with "else any".
	Met      bool
	Fallback bool
	// Alternative is which one holds, from 0.
	Alternative int
	// Tier is what the pod is to use: the slowest that holds, or the first that the pod names.
	Tier string
	// Evidence is of the limit that has the least room; of an answer that is not met, of the
	// limit that came nearest.
	Evidence Evidence
	// ByLabel tells that nothing is measured, and that the thesis's labels stand in for it.
	ByLabel bool
	// TakesPorts is how many ports of the label dpdk the pod takes.
	TakesPorts int
	// Miss is why not; Met if it is.
	Miss Miss
}

// Suits reports whether the pod may go to the node.
func (a *Answer) Suits() bool { return a.Met || a.Fallback }

// Evidence is the comparison of one limit with one figure.
type Evidence struct {
	Tier, Peer string
	Limit      request.Limit
	// P is the figure's percentile, the request's or the next above.
	P                string
	ValueNs, BoundNs int64
	MeasuredAt       time.Time
	Noisy            bool
	// Fault is the figure's, where Miss is Contradicting; NoBounds, where it is Unbounded.
	Fault, NoBounds string
}

// Room is the part of the limit that the bound takes: 1 or less within it, and infinite without
// a figure.
func (e *Evidence) Room() float64 {
	if e.BoundNs == 0 || e.Limit.Ns == 0 {
		return math.Inf(1)
	}
	return float64(e.BoundNs) / float64(e.Limit.Ns)
}

// Miss is why a node does not hold a limit. The smaller is the nearer to holding it.
type Miss int

// The misses.
const (
	Held Miss = iota
	NoPort
	Slower      // measured, and slower than the request
	Unsure      // measured within, but the bound is not
	Unbounded   // measured within, but nothing bounds the percentile
	Unsupported // too few packets for the percentile
	TooOld
	ClockAhead
	Contradicting
	Unmeasured
	NoTarget // no node matches Request.To
	Unlabelled
)

// Ask holds one node against the request.
func (q *Question) Ask(n Node) Answer {
	figures := q.Of(n.Name)
	if q.Request.ThesisUs > 0 {
		if !slices.ContainsFunc(figures, func(f Figure) bool { return f.Peer == "" && f.StateAt(q.Now) == Fresh }) {
			return ByLabels(q.Request, n)
		}
		answer := q.askFigures(n, figures)
		return countPorts(answer, q.Request, n)
	}
	return q.askFigures(n, figures)
}

func (q *Question) askFigures(n Node, figures []Figure) Answer {
	nearest := Answer{Node: n.Name, Miss: Unlabelled, Fallback: q.Request.Any}
	if q.Request.To != nil && len(q.Peers) == 0 {
		nearest.Miss = NoTarget
		return nearest
	}
	tiers := q.tiers(figures)
	if len(tiers) == 0 {
		nearest.Miss = Unmeasured
		return nearest
	}
	for i, alternative := range q.Request.Alternatives {
		var met []Answer
		for _, tier := range tiers {
			answer := q.askTier(n.Name, figures, tier, alternative)
			answer.Alternative, answer.Fallback = i, q.Request.Any
			switch {
			case answer.Met:
				met = append(met, answer)
			case nearer(&answer, &nearest):
				nearest = answer
			}
		}
		if len(met) > 0 {
			return q.choose(met)
		}
	}
	return nearest
}

// tiers are those of the node that the pod can use, in the pod's order; and those that the pod
// names and the node lacks are left out, unless it lacks all.
func (q *Question) tiers(figures []Figure) []string {
	var out []string
	for _, f := range figures {
		if q.Request.Allows(f.Tier) && !slices.Contains(out, f.Tier) {
			out = append(out, f.Tier)
		}
	}
	if len(q.Request.Tiers) > 0 {
		slices.SortFunc(out, func(a, b string) int {
			return slices.Index(q.Request.Tiers, a) - slices.Index(q.Request.Tiers, b)
		})
	}
	// On the peer's own node the pod speaks within the node, and a peer may have measured what
	// this node has not.
	for _, peer := range q.Peers {
		for _, f := range q.Of(peer) {
			if q.Request.Allows(f.Tier) && !slices.Contains(out, f.Tier) {
				out = append(out, f.Tier)
			}
		}
	}
	return out
}

// choose takes the first of the pod's own tiers, or the slowest that holds, so that the faster
// stay free.
func (q *Question) choose(met []Answer) Answer {
	if len(q.Request.Tiers) > 0 {
		return met[0]
	}
	return slices.MaxFunc(met, func(a, b Answer) int {
		switch ra, rb := a.Evidence.Room(), b.Evidence.Room(); {
		case ra < rb:
			return -1
		case ra > rb:
			return 1
		}
		return 0
	})
}

// askTier holds all limits against one tier, to every peer. The answer has the evidence with the
// least room.
func (q *Question) askTier(node string, figures []Figure, tier string, limits request.Alternative) Answer {
	answer := Answer{Node: node, Tier: tier, Met: true}
	peers := q.Peers
	if q.Request.To == nil {
		peers = []string{""}
	}
	first := true
	for _, peer := range peers {
		between := between(node, figures, tier, peer, q.Of)
		for _, limit := range limits {
			evidence, miss := q.hold(between, limit)
			evidence.Tier = tier
			if evidence.Peer = peer; peer == node {
				evidence.Peer = ""
			}
			worse := Answer{Miss: miss, Evidence: evidence}
			if first || farther(&worse, &answer) {
				answer.Miss, answer.Evidence = miss, evidence
			}
			first = false
			answer.Met = answer.Met && miss == Held
		}
	}
	return answer
}

// between are the figures of a tier from a node to a peer, by either of the two: a round trip is
// the same from both ends. Within the node they are its own. What one end has measured before the
// other has found the path changed is of another path.
func between(node string, figures []Figure, tier, peer string, of func(string) []Figure) []*Figure {
	if peer == node {
		peer = ""
	}
	var out []*Figure
	for i := range figures {
		if f := &figures[i]; f.Tier == tier && f.Peer == peer {
			out = append(out, f)
		}
	}
	if peer != "" {
		others := of(peer)
		for i := range others {
			if f := &others[i]; f.Tier == tier && f.Peer == node {
				out = append(out, f)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(out), func(f *Figure) bool {
		return slices.ContainsFunc(out, func(o *Figure) bool { return o != f && f.MeasuredAt.Before(o.ChangedAt) })
	})
}

// hold compares one limit with the figures of one way. Of several that are fresh the worst
// counts: where two ends contradict each other, nothing better is certain.
func (q *Question) hold(figures []*Figure, limit request.Limit) (Evidence, Miss) {
	percent, _ := strconv.ParseFloat(limit.P, 64) // the request was read
	worst, miss, any := Evidence{Limit: limit}, Unmeasured, false
	for _, f := range figures {
		evidence, state := Evidence{Limit: limit, MeasuredAt: f.MeasuredAt, Noisy: f.Noisy, Fault: f.Fault, NoBounds: f.NoBounds}, Held
		switch f.StateAt(q.Now) {
		case Faulty:
			state = Contradicting
		case Ahead:
			state = ClockAhead
		case Stale:
			state = TooOld
		case Fresh:
			point, found := f.at(percent)
			evidence.P, evidence.ValueNs, evidence.BoundNs = point.P, point.ValueNs, point.BoundNs
			switch {
			case !found:
				state = Unsupported
			case !limit.Holds(point.ValueNs):
				state = Slower
			case point.BoundNs == 0:
				state = Unbounded
			case !limit.Holds(point.BoundNs):
				state = Unsure
			}
		}
		fresh := state == Held || state == Slower || state == Unsure || state == Unbounded || state == Unsupported
		switch {
		case !any && fresh, // a fresh one counts before all that say nothing
			any == fresh && (miss == Unmeasured || farther(&Answer{Miss: state, Evidence: evidence}, &Answer{Miss: miss, Evidence: worst})):
			worst, miss = evidence, state
		}
		any = any || fresh
	}
	return worst, miss
}

// nearer reports whether a is nearer to holding the request than b.
func nearer(a, b *Answer) bool {
	if a.Miss != b.Miss {
		return a.Miss < b.Miss
	}
	return a.Evidence.Room() < b.Evidence.Room()
}

func farther(a, b *Answer) bool { return nearer(b, a) }

// SortByNearest puts the answers first that came nearest to holding the request.
func SortByNearest(answers []Answer) {
	slices.SortStableFunc(answers, func(a, b Answer) int {
		switch {
		case nearer(&a, &b):
			return -1
		case nearer(&b, &a):
			return 1
		}
		return 0
	})
}
