package journal

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/fault"
)

// Undo undoes the steps that which selects (nil selects all): first the processes, then the
// rest backwards; after a reboot only files. It continues after a failure; a failed step
// stays in the journal for another try. note, which may be nil, receives what stays unchanged,
// and why.
func (j *Journal) Undo(ctx context.Context, note func(string), which func(Entry) bool) error {
	if note == nil {
		note = func(string) {}
	}
	return j.undo(ctx, note, j.Entries(), which)
}

// undo undoes some entries, of which the journal may not have those without a number.
func (j *Journal) undo(ctx context.Context, note func(string), entries []Entry, which func(Entry) bool) error {
	rebooted := !j.SinceBoot()
	byID := map[int]Entry{}
	ending := map[Ender][]Entry{}
	var removing []Entry
	for _, entry := range entries {
		if entry.ID != 0 {
			byID[entry.ID] = entry
		}
		ender := registered[entry.Kind].Ender
		switch {
		case which != nil && !which(entry):
		case ender != nil:
			ending[ender] = append(ending[ender], entry)
		default:
			removing = append(removing, entry)
		}
	}
	var failures []error
	for ender, entries := range ending {
		if !rebooted {
			if err := end(ctx, ender, entries, note); err != nil {
				failures = append(failures, err)
				continue
			}
		}
		fault.Point("after ending processes")
		var ids []int
		for _, entry := range entries {
			if entry.ID != 0 {
				ids = append(ids, entry.ID)
			}
			delete(byID, entry.ID)
		}
		j.Forget(ids...)
	}
	unended, left := len(failures) > 0, patience
	var ids []int
	for i := len(removing) - 1; i >= 0; i-- {
		u := Undoing{Entry: removing[i], Unended: unended, Note: note, left: &left}
		if starter, ok := byID[u.Holder]; ok {
			u.Starter = &starter
		}
		if err := u.undo(ctx, rebooted); err != nil {
			failures = append(failures, fmt.Errorf("undo %s: %w", u.Step, err))
			continue
		}
		fault.Point("after undoing", string(u.Kind))
		// A line for each would double the work of a large lab; undoing a step
		// again after a crash does nothing.
		if u.ID != 0 {
			ids = append(ids, u.ID)
		}
		if len(ids) == 64 {
			j.Forget(ids...)
			ids = nil
		}
	}
	j.Forget(ids...)
	return errors.Join(failures...)
}

func end(ctx context.Context, ender Ender, entries []Entry, note func(string)) error {
	if err := fault.Fail("before ending processes"); err != nil {
		return fmt.Errorf("end processes: %w", err)
	}
	return ender.End(ctx, entries, note)
}

func (u Undoing) undo(ctx context.Context, rebooted bool) error {
	if err := fault.Fail("before undoing", string(u.Kind)); err != nil {
		return err
	}
	kind, known := registered[u.Kind]
	switch {
	case !known:
		return &UnknownKindError{u.Kind}
	case rebooted && !kind.Lasting:
		return nil
	}
	return kind.Step(ctx, u)
}
