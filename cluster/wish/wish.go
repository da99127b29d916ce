package wish

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
	// ThesisAnnotation is a number of microseconds, as the thesis has it that began this
	// (seeds/003): "800".
	ThesisAnnotation = "latency"
	// PortsAnnotation is how many ports a pod with the thesis's annotation takes: "2"; 1 without.
	// A pod with claims has the number there.
	PortsAnnotation = "nines.dev/ports"
	// Placed is what the scheduler writes when it binds a pod: what the node promised.
	Placed = "nines.dev/placed"
)

// Wish is what a pod asks for.
type Wish struct {
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
	// ThesisUs is the number of the thesis's annotation; 0 for a wish of ours. Where a node has
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

// String is the wish in the form of our annotation; Parse reads it again as the same wish.
func (w *Wish) String() string {
	var parts []string
	for _, alternative := range w.Alternatives {
		parts = append(parts, alternative.String())
	}
	if w.Any {
		parts = append(parts, "any")
	}
	text := strings.Join(parts, " else ")
	if w.To != nil {
		text += "; to: " + w.To.Text
	}
	if len(w.Tiers) > 0 {
		text += "; tier: " + strings.Join(w.Tiers, ", ")
	}
	return text
}

// Allows reports whether the pod can use a tier.
func (w *Wish) Allows(tier string) bool {
	return len(w.Tiers) == 0 || slices.Contains(w.Tiers, tier)
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

// Of reads the wish of a pod from its annotations. A pod without a wish has none, and no error.
func Of(annotations map[string]string) (*Wish, error) {
	ours, hasOurs := annotations[Annotation]
	thesis, hasThesis := annotations[ThesisAnnotation]
	switch {
	case hasOurs && hasThesis:
		return nil, fmt.Errorf("annotations %s and %s: the pod has both, which may contradict each other; remove one",
			Annotation, ThesisAnnotation)
	case hasOurs:
		w, err := Parse(ours)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", Annotation, err)
		}
		return w, nil
	case hasThesis:
		w, err := ParseThesis(thesis)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", ThesisAnnotation, err)
		}
		if w.Ports, err = parsePorts(annotations); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", PortsAnnotation, err)
		}
		return w, nil
	}
	return nil, nil // no wish
}
