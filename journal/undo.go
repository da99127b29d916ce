package journal

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/fault"
)

// World is what undoing acts on: the host, or a test's stand-in.
type World interface {
	// End ends the processes and containers of the entries, all at once, and
	// returns when they and their namespaces are gone.
	End(ctx context.Context, entries []Entry) error
	// Remove removes what another entry made. gone tells whether the process of a
	// step has ended, and with it what lived in its namespaces.
	Remove(ctx context.Context, entry Entry, holder *Entry) error
}

// Undo undoes the steps that which picks (nil picks all), the processes first, then
// the rest backwards. It goes on after a failure, and what failed stays in the
// journal, so that it can be tried again.
func (j *Journal) Undo(ctx context.Context, world World, which func(Entry) bool) error {
	byID := map[int]Entry{}
	var ending, removing []Entry
	for _, entry := range j.Entries() {
		byID[entry.ID] = entry
		switch {
		case which != nil && !which(entry):
		case entry.Kind.isProcess():
			ending = append(ending, entry)
		default:
			removing = append(removing, entry)
		}
	}
	var failures []error
	fault.Point("before ending processes")
	if len(ending) > 0 {
		if err := world.End(ctx, ending); err != nil {
			failures = append(failures, err)
		} else {
			fault.Point("after ending processes")
			ids := make([]int, 0, len(ending))
			for _, entry := range ending {
				ids = append(ids, entry.ID)
				delete(byID, entry.ID)
			}
			j.forget(ids)
		}
	}
	var ids []int
	for i := len(removing) - 1; i >= 0; i-- {
		entry := removing[i]
		var holder *Entry
		if h, ok := byID[entry.Holder]; ok {
			holder = &h
		}
		fault.Point("before undoing", string(entry.Kind))
		if err := world.Remove(ctx, entry, holder); err != nil {
			failures = append(failures, fmt.Errorf("undo %s: %w", entry.Step, err))
			continue
		}
		fault.Point("after undoing", string(entry.Kind))
		// A line for each would double the work of a large lab; undoing one again
		// after a crash does nothing.
		if ids = append(ids, entry.ID); len(ids) == 64 {
			j.forget(ids)
			ids = nil
		}
	}
	j.forget(ids)
	return errors.Join(failures...)
}
