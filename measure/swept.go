package measure

import (
	"strings"

	"nines.dev/nines/spec"
)

// findSwept finds the variables of scripts that the sweep varies: those that it names, and those that
// a case of it changes.
func findSwept(runs []run) {
	global := sweptIn(runs, "variables.", func(e *spec.Experiment) map[string]string { return e.Variables })
	for i := range runs {
		runs[i].swept = present(global, runs[i].spec.Variables)
		runs[i].sweptNodes = map[string]map[string]bool{}
	}
	for _, name := range nodesWithVariables(runs) {
		own := func(e *spec.Experiment) map[string]string {
			if n := e.Topology.Nodes[name]; n != nil {
				return n.Variables
			}
			return nil
		}
		swept := sweptIn(runs, "nodes."+name+".variables.", own)
		for i := range runs {
			if here := present(swept, own(runs[i].spec)); len(here) > 0 {
				runs[i].sweptNodes[name] = here
			}
		}
	}
}

// sweptIn names the variables of one scope that the sweep names, by keys with this beginning, or that are not
// the same in all runs.
func sweptIn(runs []run, begin string, of func(*spec.Experiment) map[string]string) map[string]bool {
	swept := map[string]bool{}
	for _, r := range runs {
		for key := range r.variables {
			key = strings.TrimPrefix(key, "topology.")
			if name, all := strings.CutPrefix(key, "nodes.*.variables."); all && begin != "variables." {
				swept[name] = true
			}
			if name, ok := strings.CutPrefix(key, begin); ok {
				swept[name] = true
			}
		}
		for name, value := range of(r.spec) {
			if other, ok := of(runs[0].spec)[name]; !ok || other != value {
				swept[name] = true
			}
		}
		for name := range of(runs[0].spec) {
			if _, ok := of(r.spec)[name]; !ok {
				swept[name] = true
			}
		}
	}
	return swept
}

// present are the names that have a value.
func present(names map[string]bool, values map[string]string) map[string]bool {
	found := map[string]bool{}
	for name := range names {
		if _, ok := values[name]; ok {
			found[name] = true
		}
	}
	return found
}

func nodesWithVariables(runs []run) []string {
	seen := map[string]bool{}
	var names []string
	for _, r := range runs {
		for name, n := range r.spec.Topology.Nodes {
			if n != nil && len(n.Variables) > 0 && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}
