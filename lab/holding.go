package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/state"
)

// holding is a lab that this process changes.
type holding struct {
	state   state.Folder
	folder  *folder.Folder
	lock    *flock.Lock
	journal *journal.Journal
	// note receives what Lab.Down leaves, and why.
	note func(string)
}

// hold locks an existing lab and opens its journal, to change the lab.
func hold(name string) (*holding, error) {
	if err := leaveCaller(); err != nil {
		return nil, err
	}
	h, err := holdToUndo(name)
	if err == nil && h.journal != nil {
		err = h.journal.Damaged()
	}
	if err != nil && h != nil {
		return nil, errors.Join(err, h.free())
	}
	return h, err
}

// holdToUndo is hold for a lab whose journal may be damaged.
func holdToUndo(name string) (*holding, error) {
	if err := state.CheckName(name); err != nil {
		return nil, err
	}
	h := &holding{state: state.Of(name)}
	if err := h.open(name); err != nil {
		return nil, state.ExplainUnseen(err, name)
	}
	return h, nil
}

// open locks the lab's folder and opens its journal; on an error it leaves neither.
func (h *holding) open(name string) (err error) {
	// Before the lock, which makes a file.
	if err := folder.Check(h.state.Place()); err != nil {
		return err
	}
	if h.lock, err = lockLab(h.state, name); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.free())
		}
	}()
	if h.folder, err = folder.Open(h.state.Place()); err != nil {
		return err
	}
	h.journal, err = journal.Salvage(h.state.Journal())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrEmpty) {
		h.journal = nil // killed before it made anything, or after it removed everything
		return nil
	}
	return err
}

// lockLab takes a lab's lock; its error says if the lab is being measured.
func lockLab(s state.Folder, name string) (*flock.Lock, error) {
	held, err := state.TakeLock(s.Lock(), name, 0)
	var busy *state.BusyError
	if errors.As(err, &busy) && isOwn(s, busy.PID) {
		held, err = state.TakeLock(s.Lock(), name, ownPatience) // it starts a node again
	}
	if errors.As(err, &busy) {
		if o := state.ReadOwner(s.Measured()); o.PID == busy.PID && o.Alive() {
			busy.Measuring, busy.Since = o.Experiment, o.Since
		}
	}
	return held, err
}

func (h *holding) free() error {
	err := h.lock.Free()
	if h.folder != nil {
		err = errors.Join(err, h.folder.Close())
	}
	if h.journal != nil {
		err = errors.Join(err, h.journal.Close())
	}
	return err
}

// takeBack undoes a lab that could not be made, and returns the cause, with what the undo left and its
// error if it failed.
func (h *holding) takeBack(ctx context.Context, name string, cause error) error {
	// Undo must also run after ctx is cancelled.
	var notes []string
	back := h.undoAll(context.WithoutCancel(ctx), collect(&notes))
	if back != nil {
		back = fmt.Errorf("and while removing it: %w; nines down %s tries again", back, name)
	}
	var left error
	if len(notes) > 0 {
		left = fmt.Errorf("and while removing it: %s", strings.Join(notes, "; "))
	}
	var interrupted *interruptedError
	if errors.As(cause, &interrupted) && left == nil && back == nil {
		cause = &interruptedError{while: interrupted.while, left: "nines removed what it had made, and nothing is left"}
	}
	return errors.Join(state.Explain(cause), left, back, h.free())
}

// undoAll undoes the journal and, if that went well, removes the lab's folder. A *journal.WrongError alone means
// that the journal did not name everything, but that all of it is gone.
func (h *holding) undoAll(ctx context.Context, note func(string)) error {
	// Without its settings a lab counts as unfinished, should we be killed.
	if err := state.AbsentIsFine(os.Remove(h.state.Settings())); err != nil {
		return err
	}
	if h.journal != nil {
		service.Stop(ctx, h.journal, func(string) bool { return true })
		h.halt(ctx, note)
	}
	wrong, err := h.undoSteps(ctx, note)
	if err != nil {
		return errors.Join(wrong, fmt.Errorf("take the lab down: %w", err))
	}
	if wrong != nil {
		wrong = fmt.Errorf("what is known of the lab is gone, but %w", wrong)
	}
	return errors.Join(wrong, h.folder.Remove(note))
}

// undoSteps undoes the journal. If a step needs room on a full disk, it makes room first: it may be
// the lab's nodes that have filled it.
func (h *holding) undoSteps(ctx context.Context, note func(string)) (wrong, err error) {
	if h.journal == nil {
		return nil, nil
	}
	wrong, err = h.journal.UndoAll(ctx, note, journal.Always)
	if replace.IsFull(err) && h.folder.Delete(h.state.Folders()) == nil {
		var more error
		more, err = h.journal.UndoAll(ctx, note, journal.Always)
		wrong = cmp.Or(more, wrong)
	}
	return wrong, err
}

// collect receives notes, and keeps each once.
func collect(notes *[]string) func(string) {
	return func(note string) {
		if !slices.Contains(*notes, note) {
			*notes = append(*notes, note)
		}
	}
}
