package service

import (
	"fmt"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// Faults says which services have ended while their node still runs, and are not ready again.
func Faults(l *running.Lab) ([]check.Fault, error) {
	all, err := All(l)
	var faults []check.Fault
	for _, s := range all {
		back := s.Alive && (s.Ends == 0 || s.Status == Ready)
		if back || !l.Alive(s.Node) {
			continue
		}
		what, refusal := fmt.Sprintf("service %s of node %s", s.Name, s.Node), ""
		if n := l.Plan().Node(s.Node); n != nil {
			refusal = s.refusal(*n)
		}
		faults = append(faults, check.Fault{
			Of: what, Part: "node " + s.Node, Problem: what + " has ended" + s.Why() + s.policy() + refusal, Remedy: check.RestartService, Target: s.Node + ":" + s.Name,
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

// policy says what its restart policy does now.
func (s State) policy() string {
	if s.Alive {
		return "; its restart policy starts it again"
	}
	return ""
}

// Before says that it has ended before, and how it last did; empty if it has not.
func (r Record) Before() string {
	if r.Ends == 0 {
		return ""
	}
	return fmt.Sprintf("; it has ended %s, the last time at %s%s", times(r.Ends), r.LastEnd.Format("15:04:05"), r.Why())
}

// times is how often something has happened.
func times(count int) string {
	if count == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", count)
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
