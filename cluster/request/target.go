package request

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Target is the nodes that a pod speaks to. A node suits the pod if it holds the limits to every
// one of them.
type Target struct {
	// Text is as it was written.
	Text string
	// Nodes are the names of nodes; none if Labels select them.
	Nodes  []string
	Labels labels.Selector
}

// parseTarget takes what could be names of nodes as such, and all else as a selector. A selector
// by a key alone needs its own sign: "zone in (a,b)", "!slow", "rack=r1".
func parseTarget(text string) (*Target, error) {
	var names, others []string
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); len(validation.IsDNS1123Subdomain(part)) == 0 {
			names = append(names, part)
		} else {
			others = append(others, part)
		}
	}
	if len(others) == 0 {
		return &Target{Text: text, Nodes: names}, nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("to: %q is neither the names of nodes nor a selector of labels such as rack=r1: %w", text, err)
	}
	if selector.Empty() || !strings.ContainsAny(text, "=!<>() /") {
		return nil, fmt.Errorf("to: %q is neither the names of nodes nor a selector of labels such as rack=r1", text)
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if r.Operator() == selection.Exists && slices.Contains(names, r.Key()) {
			return nil, fmt.Errorf("to: %q has the name %q beside a selector of labels: list nodes, or select them by labels", text, r.Key())
		}
	}
	return &Target{Text: text, Labels: selector}, nil
}

// Matches reports whether a node is one of them.
func (t *Target) Matches(name string, of map[string]string) bool {
	if t.Labels == nil {
		return slices.Contains(t.Nodes, name)
	}
	return t.Labels.Matches(labels.Set(of))
}
