package request

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Target is the nodes that a pod speaks to. A node suits the pod if it holds the limits to every
// one of them.
type Target struct {
	// Text is as it was written.
	Text string
	// Node is the name of one node; empty if Labels select them.
	Node   string
	Labels labels.Selector
}

// parseTarget takes what could be a node's name as one, and all else as a selector. A selector
// by a key alone needs its own sign: "zone in (a,b)", "!slow", "rack=r1".
func parseTarget(text string) (*Target, error) {
	if len(validation.IsDNS1123Subdomain(text)) == 0 {
		return &Target{Text: text, Node: text}, nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("to: %q is neither the name of a node nor a selector of labels such as rack=r1: %w", text, err)
	}
	if selector.Empty() || !strings.ContainsAny(text, "=!<>() /") {
		return nil, fmt.Errorf("to: %q is neither the name of a node nor a selector of labels such as rack=r1", text)
	}
	return &Target{Text: text, Labels: selector}, nil
}

// Matches reports whether a node is one of them.
func (t *Target) Matches(name string, of map[string]string) bool {
	if t.Labels == nil {
		return t.Node == name
	}
	return t.Labels.Matches(labels.Set(of))
}
