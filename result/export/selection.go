package export

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Select picks trials by ID, in the result's order; all of them without IDs. "7" also means "0007".
func Select(r *result.Result, ids []string) ([]result.Trial, error) {
	if len(ids) == 0 {
		return r.Summary.Trials, nil
	}
	wanted := map[string]bool{}
	all := make([]string, 0, len(r.Summary.Trials))
	for _, t := range r.Summary.Trials {
		all = append(all, t.ID)
	}
	for _, id := range ids {
		at := slices.Index(all, id)
		if at < 0 {
			at = slices.Index(all, fmt.Sprintf("%04s", id))
		}
		if at < 0 {
			return nil, noTrial(id, all)
		}
		wanted[all[at]] = true
	}
	var selected []result.Trial
	for _, t := range r.Summary.Trials {
		if wanted[t.ID] {
			selected = append(selected, t)
		}
	}
	return selected, nil
}

func noTrial(id string, all []string) error {
	const shown = 6
	has := strings.Join(all[:min(shown, len(all))], ", ")
	if more := len(all) - shown; more > 0 {
		has += fmt.Sprintf(" and %d more", more)
	}
	if has == "" {
		has = "none"
	}
	return exit.Wrongf("trial %q does not exist; the result has %s", id, terminal.Plain(has))
}

// Progress receives the number of finished trials and the total; may be nil.
type Progress func(done, of int)

func (p Progress) tell(done, of int) {
	if p != nil {
		p(done, of)
	}
}
