package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/spec"
)

func defaultTo[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// course is one stream with its way.
type course struct {
	stream *spec.Traffic
	path   []*endpoint
	round  bool // the path goes out and back
}

func (c course) from() *endpoint { return c.path[0] }
func (c course) to() *endpoint   { return c.path[len(c.path)-1] }

// resolveTraffic is findPath, with its errors located at the key traffic.
func (w *work) resolveTraffic() error { return at(w.findPath(), []string{"traffic"}) }

// findPath resolves the traffic: its ends and the path between them, in a duet on each side.
func (w *work) findPath() error {
	if w.exp.Traffic == nil {
		return nil
	}
	w.stream = w.exp.Traffic
	streams := []*spec.Traffic{w.stream}
	if pair := w.exp.Duet; pair != nil {
		streams = []*spec.Traffic{&pair.Sides[0].Traffic, &pair.Sides[1].Traffic}
	}
	for _, s := range streams {
		c, err := w.findCourse(s)
		if err != nil {
			return err
		}
		w.courses = append(w.courses, c)
		w.path = append(w.path, c.path...)
	}
	return nil
}

func (w *work) findCourse(s *spec.Traffic) (course, error) {
	from, err := w.endpoint("traffic.from", s.From)
	if err != nil {
		return course{}, err
	}
	to, err := w.endpoint("traffic.to", s.To)
	if err != nil {
		return course{}, err
	}
	for _, end := range []*endpoint{from, to} {
		if app := end.node.app().Kind; app != "" {
			return course{}, &Conflict{"traffic", fmt.Sprintf("it ends at %s, but node %s runs app %s", end, end.node.name, app),
				"end the traffic at a node without an app; for a round trip through a reflecting node give from and to the same endpoint"}
		}
	}
	if from == to && from.alone() {
		return course{s, []*endpoint{from, from}, true}, nil
	}
	out, err := w.search(from, to)
	if err != nil {
		return course{}, err
	}
	if from != to {
		return course{s, out, false}, nil
	}
	back := slices.Clone(out[:len(out)-1]) // the same way
	slices.Reverse(back)
	return course{s, append(slices.Clone(out), back...), true}, nil
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
