package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Unexplained is what of a search's findings will not go with what the journal names. Earlier versions named only
// one end of a pair of devices: with their journals, anything but a process may go so.
func (j *Journal) Unexplained(found []Found) []Found {
	if j.Header.Form != plainForm {
		return found
	}
	return slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return registered[f.Kind].Ender == nil })
}

// unlisted is what no entry names. It is pure.
func unlisted(entries []Entry, found []Found) []Found {
	listed := map[mention]bool{}
	for _, e := range entries {
		for _, m := range e.mentions() {
			listed[m] = true
		}
	}
	return slices.DeleteFunc(found, func(f Found) bool {
		return slices.ContainsFunc(f.mentions(), func(m mention) bool { return listed[m] })
	})
}

// mention is one of the ways in which an entry names what its undo removes. Of processes the kind is empty: each
// may be found as another.
type mention struct {
	kind                      Kind
	token, name, path, target string
	pid                       int
	startTicks                uint64
}

// mentions are the ways in which an entry names its thing.
func (e Entry) mentions() []mention {
	list := []mention{{kind: e.Kind, name: e.Name, path: e.Path}}
	if e.Target != "" {
		list = append(list, mention{kind: e.Kind, target: e.Target})
	}
	kind := e.Kind
	if registered[e.Kind].Ender != nil {
		kind = ""
		if e.Learnt != nil && e.Learnt.PID != 0 {
			list = append(list, mention{pid: e.Learnt.PID, startTicks: e.Learnt.StartTicks})
		}
	}
	if e.Token != "" {
		list = append(list, mention{kind: kind, token: e.Token})
	}
	return list
}

// mentions are the ways in which an entry may name what was found; any of them is enough.
func (f Found) mentions() []mention {
	ends := registered[f.Kind].Ender != nil
	if f.Token != "" && !ends {
		return []mention{{kind: f.Kind, token: f.Token}}
	}
	list := []mention{{kind: f.Kind, name: f.Name, path: f.Path}}
	if f.Name != "" { // without a path, in every place: a control group in each hierarchy
		list = append(list, mention{kind: f.Kind, name: f.Name})
	}
	if f.Path != "" {
		list = append(list, mention{kind: f.Kind, path: f.Path})
	} else {
		list = append(list, mention{kind: f.Kind, target: f.Name}) // the other end of a pair
	}
	if ends {
		list = append(list, mention{token: f.Token}, mention{pid: f.Learnt.PID, startTicks: f.Learnt.StartTicks})
	}
	return list
}

// Wrong is a *WrongError if the journal is damaged, or a search has found what no line names; otherwise nil.
func (j *Journal) Wrong(found []Found) error {
	if len(j.damage) == 0 && len(found) == 0 {
		return nil
	}
	return &WrongError{Path: j.path, Damage: j.damage, Found: found, Lost: lost(j.damage, found)}
}
