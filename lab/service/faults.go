package service

import (
	"fmt"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// Faults says which services have ended while their node still runs.
func Faults(l *running.Lab) ([]check.Fault, error) {
	all, err := All(l)
	var faults []check.Fault
	for _, s := range all {
		if s.Alive || !l.Alive(s.Node) {
			continue
		}
		what, refusal := fmt.Sprintf("service %s of node %s", s.Name, s.Node), ""
		if n := l.Plan().Node(s.Node); n != nil {
			refusal = s.refusal(*n)
		}
		faults = append(faults, check.Fault{
			Of: what, Part: "node " + s.Node, Problem: what + " has ended" + s.Why() + refusal, Remedy: check.RestartService, Target: s.Node + ":" + s.Name,
		})
	}
	return faults, err
}

// refusal names the key that lets the service do what it was refused, as far as its output shows that.
func (r Record) refusal(n plan.Node) string {
	if why := node.Refusal(n, r.Failed+" "+r.Said); why != "" {
		return "; " + why
	}
	return ""
}

// Why says how it ended and what it said last.
func (r Record) Why() string {
	text := ""
	switch {
	case r.Failed != "":
		text += ": " + r.Failed
	case r.Ending != "":
		text += ": " + r.Ending
	default:
		text += "; what kept it was killed, so it is not known how"
	}
	if r.Said != "" {
		text += "; its last output was: " + r.Said
	}
	return text
}
