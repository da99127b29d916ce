package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// portFaults finds links whose program has not the ports that are planned, unless one of the other faults
// explains it.
func (l *Lab) portFaults(others []check.Fault) ([]check.Fault, error) {
	var faults []check.Fault
	var failures []error
	cut, err := l.cutLinks()
	if err != nil {
		return nil, err
	}
	for _, planned := range l.Plan().Links {
		explained := slices.ContainsFunc(others, func(f check.Fault) bool {
			return f.Part == "fabric" || f.Part == "link "+planned.Name || slices.ContainsFunc(planned.Endpoints, func(e plan.Endpoint) bool { return f.Part == "node "+e.Node || f.Part == "interface "+e.Name() })
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
func (l *Lab) cutLinks() (map[string]bool, error) {
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
