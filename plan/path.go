package plan

import (
	"fmt"
	"slices"
	"strings"
)

func defaultTo[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// resolveTraffic is findPath, with its errors located at the key traffic.
func (w *work) resolveTraffic() error { return at(w.findPath(), []string{"traffic"}) }

// findPath resolves the traffic: its ends and the path between them.
func (w *work) findPath() error {
	s := w.exp.Traffic
	if s == nil {
		return nil
	}
	w.stream = s
	from, err := w.endpoint("traffic.from", s.From)
	if err != nil {
		return err
	}
	to, err := w.endpoint("traffic.to", s.To)
	if err != nil {
		return err
	}
	for _, end := range []*endpoint{from, to} {
		if app := end.node.app().Kind; app != "" {
			return &Conflict{"traffic", fmt.Sprintf("it ends at %s, but node %s runs app %s", end, end.node.name, app),
				"end the traffic at a node without an app; for a round trip through a reflecting node give from and to the same endpoint"}
		}
	}
	if from == to && from.alone() {
		w.path, w.round = []*endpoint{from, from}, true
		return nil
	}
	out, err := w.search(from, to)
	if err != nil {
		return err
	}
	w.path, w.round = out, from == to
	if w.round { // and back the same way
		back := slices.Clone(out[:len(out)-1])
		slices.Reverse(back)
		w.path = append(slices.Clone(out), back...)
	}
	return nil
}

// search finds the shortest path from one endpoint to another through forwarding nodes, breadth
// first. Where from and to are the same, the path ends at the first node that reflects. Between
// equal paths the links' order in the file decides.
func (w *work) search(from, to *endpoint) ([]*endpoint, error) {
	type step struct {
		at   *endpoint // where the packet leaves a node
		path []*endpoint
	}
	queue := []step{{from, []*endpoint{from}}}
	visited := map[*node]bool{from.node: true}
	var stuck []string // endpoints that packets reach, in nodes that do not forward
	for len(queue) > 0 {
		here := queue[0]
		queue = queue[1:]
		for _, next := range here.at.link.endpoints {
			if next == here.at {
				continue
			}
			path := append(slices.Clone(here.path), next)
			if next == to || from == to && next.node.app().SendsBack() {
				return path, nil
			}
			if visited[next.node] {
				continue
			}
			if !next.node.app().PassesOn() {
				stuck = append(stuck, next.String())
				continue
			}
			visited[next.node] = true
			for _, exit := range next.node.endpoints {
				if exit.link != next.link {
					queue = append(queue, step{exit, append(slices.Clone(path), exit)})
				}
			}
		}
	}
	place := fmt.Sprintf("traffic from %s to %s", from, to)
	if from == to {
		return nil, &Conflict{place, "from and to are the same endpoint, and no node on the way reflects",
			"give the far node app: {kind: reflect} or app: {kind: device, leaves: returned}"}
	}
	if len(stuck) == 0 {
		return nil, &Conflict{place, "no path exists", "join them by links and by nodes with app: {kind: forward}, {kind: route} or {kind: device}"}
	}
	return nil, &Conflict{place, "packets reach only " + strings.Join(stuck, ", "),
		"give that node app: {kind: forward}, {kind: route} or {kind: device}, or end the traffic there"}
}

// onPath reports whether the traffic goes over a link.
func (w *work) onPath(l *link) bool {
	return slices.ContainsFunc(w.path, func(e *endpoint) bool { return e.link == l })
}
