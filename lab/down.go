package lab

import (
	"context"
	"errors"
	"io/fs"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/lab/state"
)

// Down removes the lab; it returns when all of it is gone.
func (l *Lab) Down(ctx context.Context) error {
	if h := l.held; h != nil {
		l.control.Close()
		l.control = nil
		l.stopWatching()
		l.held = nil
		return errors.Join(h.undoAll(ctx, h.note), h.free())
	}
	_, err := Down(ctx, l.Name())
	return err
}

// Down removes a lab by its name, even an unfinished one, and the file of a measurement that died.
// It returns notes on what it did not remove, and why.
func Down(ctx context.Context, name string) (notes []string, err error) {
	notes, err = takeDown(ctx, name)
	return notes, errors.Join(err, forgetDeadMeasurement())
}

// takeDown removes a lab; the caller may hold the registry.
func takeDown(ctx context.Context, name string) (notes []string, err error) {
	endOwnAtWork(name)
	h, err := holdToUndo(name)
	if err != nil {
		return nil, err
	}
	err = h.undoAll(ctx, collect(&notes))
	return notes, errors.Join(err, h.free())
}

// DownAll removes every lab of this host by down, as Each calls it.
func DownAll(down func(name string) error) error {
	// If there is no lab, no Down forgets a dead measurement.
	return errors.Join(Each(down), forgetDeadMeasurement())
}

// Each calls f with the name of every lab of this host. It goes on after a failure, and the error
// is of all that failed.
func Each(f func(name string) error) error {
	labs, err := List()
	if err != nil {
		return err
	}
	var failures []error
	for _, lab := range labs {
		// A lab that is gone now was taken down by another process.
		if err := f(lab.Name); !errors.As(err, new(*state.NotFoundError)) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// Undoing is what Down would undo.
type Undoing struct {
	// Steps are those of the journal, in the order in which they were made.
	Steps []journal.Step
	// Found is what a search finds that no step names.
	Found []journal.Found
	// Wrong says what is wrong with the journal; nil if nothing is.
	Wrong error
}

// WouldUndo tells what Down would undo.
func WouldUndo(ctx context.Context, name string) (Undoing, error) {
	var u Undoing
	if err := state.CheckName(name); err != nil {
		return u, err
	}
	s := state.Of(name)
	if err := folder.Check(s.Place()); err != nil {
		return u, state.ExplainUnseen(err, name)
	}
	j, err := journal.Inspect(s.Journal())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrEmpty) {
		return u, nil // it was killed before its first step
	}
	if err != nil {
		return u, err
	}
	for _, entry := range j.Entries() {
		u.Steps = append(u.Steps, entry.Step)
	}
	u.Found, err = j.Unlisted(ctx)
	u.Wrong = j.Wrong(j.Unexplained(u.Found))
	return u, err
}
