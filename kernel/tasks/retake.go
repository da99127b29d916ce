package tasks

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/replace"
)

// Retake changes which CPUs an account takes from threads: more, fewer or others. It makes the account where
// there is none yet. Threads that started meanwhile join it if include says so; nil includes all.
//
// A thread gets at once what is no longer taken from it, and Clear takes the rest. Until that is done the
// account has both the old CPUs and the new ones, so that it may be killed, and called again, at any point.
func Retake(path string, taken Set, include func(Thread) bool, note func(string)) error {
	before, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = &maskIndex{}, nil
	}
	if err != nil {
		return err
	}
	threads, err := All()
	if err != nil {
		return err
	}
	masks := before.masksOf(threads, include)
	if err := writeMasks(path, before.taken.Plus(taken), threads, masks); err != nil {
		return err
	}
	var failures []error
	for _, t := range threads {
		was, known := masks[t.ID]
		// What it lost to the account, and is no longer to lose.
		back := was.Minus(was.Minus(before.taken)).Minus(taken).Minus(t.CPUs)
		if !known || len(back) == 0 || !t.CPUs.Holds(was.Minus(before.taken)) { // the last: others have changed it
			continue
		}
		fault.Point("before moving a thread")
		err := setMask(t.ID, t.CPUs.Plus(back))
		switch {
		case err == nil, errors.Is(err, unix.ESRCH):
		case errors.Is(err, unix.EINVAL): // its cpuset has none of them, or they are offline
			note(fmt.Sprintf("thread %d (%s) may not use the CPUs %s, which it had; it keeps %s", t.ID, t.Name, back, t.CPUs))
		default:
			failures = append(failures, fmt.Errorf("let thread %d (%s) use the CPUs %s: %w", t.ID, t.Name, back, err))
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return writeMasks(path, taken, threads, masks)
}

// masksOf are the CPUs that threads could use before any were taken, by their IDs.
func (b *maskIndex) masksOf(threads []Thread, include func(Thread) bool) map[int]Set {
	byID := map[int]Thread{}
	for _, t := range threads {
		byID[t.ID] = t
	}
	masks := map[int]Set{}
	for _, t := range threads {
		was, known := b.masks[identity{t.ID, t.StartTicks}]
		if !known {
			if include != nil && !include(t) {
				continue
			}
			was, known = b.inherited(t, byID)
			if known = known && t.CPUs.Equal(was.Minus(b.lost(t))); !known {
				was = t.CPUs
			}
		}
		masks[t.ID] = was
	}
	return masks
}

// writeMasks writes an account of the threads whose masks are known.
func writeMasks(path string, taken Set, threads []Thread, masks map[int]Set) error {
	a := Account{Taken: taken.String(), Threads: make([]entry, 0, len(masks))}
	for _, t := range threads {
		if was, known := masks[t.ID]; known {
			a.Threads = append(a.Threads, entry{t.ID, t.StartTicks, was.String()})
		}
	}
	if err := replace.JSON(path, a, 0o600); err != nil {
		return fmt.Errorf("write the account of threads: %w", err)
	}
	return nil
}
