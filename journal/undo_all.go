package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Looking says when UndoAll searches.
type Looking bool

const (
	// WhereWrong is a search where the journal is damaged, or its last operation was cut off.
	WhereWrong Looking = false
	// Always is a search after each undo: it also finds what was made after the last line, where someone has cut
	// the file at the end of an operation.
	Always Looking = true
)

// searchRounds is how often a search may find more, such as a process that another was just starting.
const searchRounds = 5

// UndoAll undoes every step, as Undo does, and what a search finds of the journal's owner and no line names.
//
// wrong is a *WrongError if the journal did not name everything, even if all is undone. After any other error something
// is left: the journal must stay for another try.
func (j *Journal) UndoAll(ctx context.Context, note func(string), looking Looking) (wrong, err error) {
	if note == nil {
		note = func(string) {}
	}
	distrusted := j.suspect || len(j.damage) > 0
	var found []Found
	for round := range searchRounds {
		if round > 0 && !distrusted && looking == WhereWrong {
			return nil, nil
		}
		entries := j.Entries()
		var more []Found
		var unseen error
		// The first search of a journal that tells everything is left out: what it names need not be found.
		if round > 0 || distrusted {
			more, unseen = j.Unlisted(ctx)
		}
		doubtful := takeDoubtful(&more)
		if round == 0 {
			// What is not a process may disappear with what the journal names.
			more = slices.DeleteFunc(more, func(f Found) bool { return registered[f.Kind].Ender == nil })
		}
		if round > 0 && len(more) == 0 {
			return j.Wrong(found), errors.Join(unseen, doubtful)
		}
		for _, f := range more {
			note(fmt.Sprintf("undoing %s, which a search found: no line of the journal names it", f))
			entries = append(entries, Entry{Step: f.Step, Learnt: &f.Learnt})
		}
		found = append(found, more...)
		distrusted = distrusted || len(more) > 0
		if err := j.undo(ctx, note, entries, nil); err != nil {
			return j.Wrong(found), errors.Join(unseen, doubtful, err)
		}
	}
	return j.Wrong(found), fmt.Errorf("new things of %q appear as fast as nines removes them, such as %s", j.Header.Lab, found[len(found)-1])
}

// takeDoubtful takes away what may belong to others, and returns an error that names it.
func takeDoubtful(found *[]Found) error {
	var sure []Found
	var doubts []error
	for _, f := range *found {
		if f.Doubt == "" {
			sure = append(sure, f)
		} else {
			doubts = append(doubts, fmt.Errorf("%s is left: %s", f, f.Doubt))
		}
	}
	*found = sure
	return errors.Join(doubts...)
}
