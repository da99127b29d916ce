package export

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/result"
)

// UnknownTrialError names a trial that a result does not have.
type UnknownTrialError struct {
	ID  string
	Has []string
}

func (e *UnknownTrialError) Error() string {
	const shown = 6
	has := strings.Join(e.Has[:min(shown, len(e.Has))], ", ")
	if more := len(e.Has) - shown; more > 0 {
		has += fmt.Sprintf(" and %d more", more)
	}
	if has == "" {
		has = "none"
	}
	return fmt.Sprintf("there is no trial %q; the result has %s", e.ID, has)
}

// ExitCode is 2: the call names a wrong trial.
func (e *UnknownTrialError) ExitCode() int { return 2 }

// Select picks trials by their IDs, in the result's order; without IDs all of them.
// "7" means "0007" as well.
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
			return nil, &UnknownTrialError{ID: id, Has: all}
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

// Progress is told how many trials are done, of how many; nil is told nothing.
type Progress func(done, of int)

func (p Progress) tell(done, of int) {
	if p != nil {
		p(done, of)
	}
}
