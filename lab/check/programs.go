package check

import (
	"fmt"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
)

// Programs says which programs of links have ended.
func Programs(l *running.Lab) ([]Fault, error) {
	var faults []Fault
	programs, err := l.Programs()
	for _, p := range programs {
		if p.Alive {
			continue
		}
		fault := fmt.Sprintf("%s of link %s has died (process %d)", p.Name, p.Link, p.PID)
		if p.Ending != "" {
			fault += ": " + p.Ending
		}
		if p.LastLines != "" {
			fault += "; its last output was: " + p.LastLines
			if why := explain(l, p); why != "" {
				fault += "; " + why
			}
		} else if p.Ending == "" {
			fault += "; it printed nothing, so it was killed or crashed: see dmesg (out of memory, segmentation fault)"
		}
		faults = append(faults, Fault{
			Of: p.Name + " of link " + p.Link, Part: "link " + p.Link, Problem: fault, Remedy: RemakeLink, Target: p.Link,
		})
	}
	return faults, err
}

// explain says what a dead program's last output means, where its link's kind knows.
func explain(l *running.Lab, p running.ProgramState) string {
	planned := l.Index().Link(p.Link)
	if planned == nil {
		return ""
	}
	if explain := link.Of(planned.Kind).Explain; explain != nil {
		return explain(p.LastLines)
	}
	return ""
}
