package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The annotations of a pod.
const (
	// Annotation is ours: "p99.99 < 100us, p50 <= 20us; to: n3".
	Annotation = "nines.dev/latency"
	// ThesisAnnotation is a number of microseconds, as the thesis has it that began this: "800".
	ThesisAnnotation = "latency"
	// PortsAnnotation is how many ports a pod with the thesis's annotation takes: "2"; 1 without.
	// A pod with claims has the number there.
	PortsAnnotation = "nines.dev/ports"
	// Placed is what the scheduler writes when it binds a pod: what the node promised.
	Placed = "nines.dev/placed"
)

// Request is a pod's latency request.
type Request struct {
	// Text is the annotation as it was written.
	Text string
	// Alternatives are in the order of preference: a node suits if it holds one of them.
	Alternatives []Alternative
	// Any allows any node if none holds an alternative.
	Any bool
	// To is who the pod speaks to; nil for the latency within the node.
	To *Target
	// Tiers are those that the pod can use, the preferred first; empty for all.
	Tiers []string
	// ThesisUs is the number of the thesis's annotation; 0 for a latency request of ours. Where a node has
	// no figures, its labels tell.
	ThesisUs int64
	// Ports are what a pod with the thesis's annotation takes of a node's label dpdk.
	Ports int
}

// Alternative is limits that hold together.
type Alternative []Limit

// Limit bounds a percentile.
type Limit struct {
	// P is the percentile as it was written, in percent: "99.99".
	P string
	// Ns is the limit. With Inclusive the percentile may be equal to it.
	Ns        int64
	Inclusive bool
}

// Holds reports whether ns is within the limit.
func (l Limit) Holds(ns int64) bool { return ns < l.Ns || l.Inclusive && ns == l.Ns }

// String is the limit as people write it.
func (l Limit) String() string {
	sign := "<"
	if l.Inclusive {
		sign = "<="
	}
	return fmt.Sprintf("p%s %s %s", l.P, sign, duration(l.Ns))
}

// String joins limits.
func (a Alternative) String() string {
	parts := make([]string, len(a))
	for i, limit := range a {
		parts[i] = limit.String()
	}
	return strings.Join(parts, ", ")
}

// String is the request in the form of our annotation; Parse reads it again as the same request.
func (r *Request) String() string {
	var parts []string
	for _, alternative := range r.Alternatives {
		parts = append(parts, alternative.String())
	}
	if r.Any {
		parts = append(parts, "any")
	}
	text := strings.Join(parts, " else ")
	if r.To != nil {
		text += "; to: " + r.To.Text
	}
	if len(r.Tiers) > 0 {
		text += "; tier: " + strings.Join(r.Tiers, ", ")
	}
	return text
}

// Allows reports whether the pod can use a tier.
func (r *Request) Allows(tier string) bool {
	return len(r.Tiers) == 0 || slices.Contains(r.Tiers, tier)
}

// Annotations are those of a pod that asks for this: ours, or the thesis's for a whole number.
func Annotations(text string) (map[string]string, error) {
	name, read := Annotation, Parse
	if _, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
		name, read = ThesisAnnotation, ParseThesis
	}
	if _, err := read(text); err != nil {
		return nil, err
	}
	return map[string]string{name: text}, nil
}

// Of reads the request of a pod from its annotations. A pod without a latency request has none, and no error.
func Of(annotations map[string]string) (*Request, error) {
	ours, hasOurs := annotations[Annotation]
	thesis, hasThesis := annotations[ThesisAnnotation]
	switch {
	case hasOurs && hasThesis:
		return nil, fmt.Errorf("annotations %s and %s: the pod has both, which may contradict each other; remove one",
			Annotation, ThesisAnnotation)
	case hasOurs:
		r, err := Parse(ours)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
		}
		return r, nil
	case hasThesis:
		r, err := ParseThesis(thesis)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", ThesisAnnotation, err)
		}
		if r.Ports, err = parsePorts(annotations); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", PortsAnnotation, err)
		}
		return r, nil
	}
	return nil, nil // no latency request
}
