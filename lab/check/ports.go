package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// Ports finds links whose program has not the ports that are planned, unless one of the other faults
// explains it.
func Ports(l *running.Lab, others []Fault) ([]Fault, error) {
	var faults []Fault
	var failures []error
	cut, err := cutLinks(l)
	if err != nil {
		return nil, err
	}
	for _, planned := range l.Plan().Links {
		explained := slices.ContainsFunc(others, func(f Fault) bool {
			return f.takesAll() && (f.Part == "fabric" || f.Part == "link "+planned.Name) || slices.ContainsFunc(planned.Endpoints, func(e plan.Endpoint) bool {
				return f.takesAll() && f.Part == "node "+e.Node || f.Part == "interface "+e.Name()
			})
		})
		if explained {
			continue
		}
		problems, err := link.PortDifferences(context.Background(), l.State().Dir, planned, cut[planned.Name])
		if err != nil {
			failures = append(failures, fmt.Errorf("link %s: %w", planned.Name, err))
		}
		if len(problems) > 0 {
			faults = append(faults, linkFault(planned.Name, "link "+planned.Name+": "+strings.Join(problems, ", ")))
		}
	}
	return faults, errors.Join(failures...)
}

// cutLinks are the links that are, or may be, down deliberately just now: the journal has them so.
func cutLinks(l *running.Lab) (map[string]bool, error) {
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	cut := map[string]bool{}
	for _, entry := range j.Entries() {
		if entry.Kind == link.KindCut {
			cut[entry.Link] = true
		}
	}
	return cut, nil
}
