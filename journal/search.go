package journal

import (
	"context"
	"errors"
	"fmt"
)

// Sought is what a search looks for: all that belongs to the lab, or to whatever else a journal is of.
type Sought struct {
	Header
	// Journal is the journal's path.
	Journal string
}

// Found is what a search has found, as a step that would have made it.
type Found struct {
	Step
	// Learnt identifies it, so that undo removes this one only.
	Learnt Learnt
	// Doubt says why it may belong to another program; undo leaves it then.
	Doubt string
}

// Search finds what belongs to the sought: by the token, which nobody else has, or by names with the prefix that
// nobody else gives. It must not find what only looks alike.
type Search func(context.Context, Sought) ([]Found, error)

var searches []Search

// RegisterSearch has UndoAll search. The package that makes things finds them.
func RegisterSearch(s Search) { searches = append(searches, s) }

// search runs all searches. It goes on after a failure.
func (j *Journal) search(ctx context.Context) ([]Found, error) {
	if !j.SinceBoot() {
		return nil, nil // what could be found is gone, and names may be others'
	}
	var all []Found
	var failures []error
	for _, s := range searches {
		found, err := s(ctx, Sought{j.Header, j.path})
		if err != nil {
			failures = append(failures, fmt.Errorf("search for what belongs to %q: %w", j.Header.Lab, err))
		}
		all = append(all, found...)
	}
	return all, errors.Join(failures...)
}

// Unlisted searches for what belongs to the journal's owner, and returns what no step of the journal names.
func (j *Journal) Unlisted(ctx context.Context) ([]Found, error) {
	found, err := j.search(ctx)
	return unlisted(j.Entries(), found), err
}

// unlisted is what no entry names. It is pure.
func unlisted(entries []Entry, found []Found) []Found {
	var rest []Found
	for _, f := range found {
		listed := false
		for _, e := range entries {
			listed = listed || e.names(f)
		}
		if !listed {
			rest = append(rest, f)
		}
	}
	return rest
}

// names is true if the undo of the entry removes what was found.
func (e Entry) names(f Found) bool {
	if registered[e.Kind].Ender != nil && registered[f.Kind].Ender != nil {
		same := e.Learnt != nil && e.Learnt.PID != 0 && e.Learnt.PID == f.Learnt.PID && e.Learnt.StartTicks == f.Learnt.StartTicks
		if same || f.Token != "" && e.Token == f.Token {
			return true
		}
	}
	if e.Kind != f.Kind {
		return false
	}
	if registered[f.Kind].Ender == nil && f.Token != "" {
		return e.Token == f.Token
	}
	if f.Name != "" && e.Target == f.Name && f.Path == "" { // the other end of a pair
		return true
	}
	// A step without a path has the name in every place: a control group in each hierarchy.
	return f.Name != "" && e.Name == f.Name && (e.Path == "" || e.Path == f.Path) || f.Path != "" && e.Path == f.Path && e.Name == ""
}

// Wrong is a *WrongError if the journal is damaged, or a search has found what no line names; otherwise nil.
func (j *Journal) Wrong(found []Found) error {
	if len(j.damage) == 0 && len(found) == 0 {
		return nil
	}
	return &WrongError{Path: j.path, Damage: j.damage, Found: found, Lost: lost(j.damage, found)}
}
