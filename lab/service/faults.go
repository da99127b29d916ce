package service

import (
	"fmt"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/running"
)

// Faults says which services have ended while their node still runs.
func Faults(l *running.Lab) ([]check.Fault, error) {
	all, err := All(l)
	var faults []check.Fault
	for _, s := range all {
		if s.Alive || !l.Alive(s.Node) {
			continue
		}
		what := fmt.Sprintf("service %s of node %s", s.Name, s.Node)
		faults = append(faults, check.Fault{
			Of: what, Part: "node " + s.Node, Problem: what + " has ended" + s.Why(), Remedy: check.RestartService, Target: s.Node + ":" + s.Name,
		})
	}
	return faults, err
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
