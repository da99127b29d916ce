package doctor

import (
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Planned is one run of an experiment with its plan.
type Planned struct {
	Experiment *spec.Experiment
	Plan       *plan.Plan
}

// Brief is what the verbs that plan and run print about a host: one line for each finding
// that makes results wrong, and one line with the number of other findings and the most
// important of them. It leaves out runs that measure nothing.
func Brief(inv *host.Inventory, runs ...Planned) []host.Finding {
	all := &merged{byID: map[string]*Finding{}, runs: map[string][]int{}, handled: map[Handled]bool{}}
	known := map[string]bool{}
	for at, run := range runs {
		if run.Experiment.Traffic == nil {
			continue
		}
		scope := ScopeOf(inv, run.Experiment, run.Plan)
		if key := fmt.Sprint(scope); !known[key] {
			known[key] = true
			all.add(at+1, examineFor(inv, scope).findings)
		}
	}
	var brief []host.Finding
	var rest []Finding
	for _, f := range all.result(len(runs)) {
		switch {
		case f.Severity != host.SeverityWarning:
		case f.Subject == "clock":
			brief = append(brief, f.Brief())
		default:
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return brief
	}
	worst := rest[0].Title
	if c := rest[0].Cost; c != nil {
		worst += ", which may cost " + c.span()
	}
	return append(brief, host.Finding{
		Severity: host.SeverityWarning, Capability: "latency",
		Problem: fmt.Sprintf("%s on this host will show in the tail, above all: %s", terminal.Count(len(rest), "thing"), worst),
		Remedy:  "nines doctor lists all of them with their remedies",
	})
}
