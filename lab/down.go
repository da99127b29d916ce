package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"nines.dev/nines/journal"
)

// Down removes the lab; it returns when all of it is gone.
func (l *Lab) Down(ctx context.Context) error {
	if h := l.held; h != nil {
		l.held = nil
		return errors.Join(h.undoAll(ctx, nil), h.free())
	}
	_, err := Down(ctx, l.name)
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
	h, err := hold(name)
	if err != nil {
		return nil, err
	}
	err = h.undoAll(ctx, func(note string) {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	})
	return notes, errors.Join(err, h.free())
}

// DownAll removes every lab of this host.
func DownAll(ctx context.Context) (notes []string, err error) {
	labs, err := List()
	if err != nil {
		return nil, err
	}
	for _, lab := range labs {
		more, e := Down(ctx, lab.Name)
		notes = append(notes, more...)
		if !errors.As(e, new(*NotFoundError)) {
			err = errors.Join(err, e)
		}
	}
	// If there was no lab, no Down has done this.
	return notes, errors.Join(err, forgetDeadMeasurement())
}

// Undoing lists the steps that Down would undo, in the order in which they were made.
func Undoing(name string) ([]journal.Step, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	j, err := journal.Read(stateOf(name).journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{name}
	}
	if errors.Is(err, journal.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var steps []journal.Step
	for _, entry := range j.Entries() {
		steps = append(steps, entry.Step)
	}
	return steps, nil
}

// hold locks an existing lab and opens its journal.
func hold(name string) (*holding, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	h := &holding{state: stateOf(name)}
	if journal.Inode(h.state.dir) == 0 {
		return nil, &NotFoundError{name}
	}
	var err error
	h.lock, err = lockLab(h.state, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{name} // removed just now
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, needRoot(err)
	}
	if err != nil {
		return nil, err
	}
	h.journal, err = journal.Open(h.state.journal())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrEmpty) {
		h.journal, err = nil, nil // killed before it made anything, or after it removed everything
	}
	if err != nil {
		return nil, errors.Join(err, h.lock.Free())
	}
	return h, nil
}

// undoAll undoes the journal and, if that went well, removes the lab's folder.
func (h *holding) undoAll(ctx context.Context, note func(string)) error {
	// Without its settings a lab counts as unfinished, should we be killed.
	if err := absentIsFine(os.Remove(h.state.settings())); err != nil {
		return err
	}
	if h.journal != nil {
		if err := h.journal.Undo(ctx, note, nil); err != nil {
			return fmt.Errorf("take the lab down: %w", err)
		}
	}
	return h.state.remove()
}
