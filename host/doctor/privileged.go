package doctor

import (
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

var privilegedKinds = []findingKind{
	{"privileged", "nodes of the experiment are privileged", "their processes may change what the doctor has checked"},
}

// privileged names the experiment's nodes whose processes may change the host, and so what is
// measured.
func privileged(exp *spec.Experiment) []Finding {
	var nodes []string
	for name, n := range exp.Topology.Nodes {
		if n != nil && n.Privileged {
			nodes = append(nodes, name)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	slices.Sort(nodes)
	return []Finding{{
		ID: "privileged", Subject: "walls", Severity: host.SeverityNote,
		Title:    "processes of privileged nodes (" + strings.Join(nodes, ", ") + ") may change the host",
		Evidence: []Evidence{{"the experiment file", "privileged: true"}},
		Why:      "They may set sysctls of the whole host, its clock and its kernel's modules: the doctor's findings may change while the experiment runs, and undo does not cover such changes.",
		Remedies: []Remedy{{Text: "remove privileged if the node's programs do not need it; sysctls of the node's own network stay writable"}},
		Source:   "docs/labs.md; capabilities(7)",
	}}
}
