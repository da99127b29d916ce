package folder

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"nines.dev/nines/journal"
)

// Held is a folder with its journal, both open. The program that holds it has the owner's lock.
type Held struct {
	*Folder
	// Journal is nil if the start was killed before its first step.
	Journal *journal.Journal
}

// Begin makes the folder and a journal, with a token that identifies the journal's processes.
func Begin(p Place) (*Held, error) {
	if err := os.MkdirAll(p.Path(), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", p.What, err)
	}
	f, err := Open(p)
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(p.Owner, "/")
	token := make([]byte, 8)
	_, _ = rand.Read(token) // never fails, crypto/rand
	j, err := journal.Create(p.Journal(), journal.Header{
		Lab: p.Owner, Token: "nines-" + kind + "-" + hex.EncodeToString(token),
	})
	if err != nil {
		_ = os.Remove(p.Path()) // if it is empty
		return nil, errors.Join(err, f.Close())
	}
	return &Held{f, j}, nil
}

// Take opens a folder and its journal, to undo it. Its errors are those of Open.
func Take(p Place) (*Held, error) {
	f, err := Open(p)
	if err != nil {
		return nil, err
	}
	j, err := journal.Salvage(p.Journal())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrEmpty) {
		j, err = nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Held{f, j}, nil
}

// TakeLeft is Take for a start that needs the place: it returns what has to be undone first, or nil if
// there is nothing. standing reads the owner's record, and refuses the start if what it describes is complete
// and in use. It is not called for a folder from an earlier boot or without a journal. Its error may be
// fs.ErrNotExist: the start was killed before it wrote a record. After any other error it is unknown whether
// the thing is in use, so nothing is undone.
func TakeLeft(p Place, standing func() (refusal, err error)) (*Held, error) {
	held, err := Take(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !held.SinceBoot() {
		return held, err
	}
	refusal, err := standing()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		refusal = fmt.Errorf("read the record of %s: %w; %s undoes it", p.What, err, p.Again)
	}
	if refusal != nil {
		return nil, errors.Join(refusal, held.Close())
	}
	return held, nil
}

// SinceBoot returns true if the folder's journal is from the current boot.
func (h *Held) SinceBoot() bool { return h.Journal != nil && h.Journal.SinceBoot() }

// Undo undoes the journal and what a search finds beside it, removes the folder and closes both. A
// *journal.WrongError alone means that the journal did not name everything, but that all of it is gone. note, which may be nil, receives what stays
// as it is, and why.
func (h *Held) Undo(ctx context.Context, note func(string)) error {
	if note == nil {
		note = func(string) {}
	}
	var wrong, err error
	if h.Journal != nil {
		wrong, err = h.Journal.UndoAll(ctx, note, journal.WhereWrong)
	}
	if err == nil {
		err = h.Remove(note)
	}
	return errors.Join(wrong, err, h.Close())
}

// Close closes the journal and the folder, and changes neither.
func (h *Held) Close() error {
	err := h.Folder.Close()
	if h.Journal != nil {
		err = errors.Join(h.Journal.Close(), err)
	}
	return err
}
