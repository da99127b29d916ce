package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/replace"
)

// Account records which CPUs the threads of a host could use before some were taken away.
type Account struct {
	// Taken are the CPUs that are taken from all other threads; Quiet are those that
	// are taken only from kernel threads.
	Taken   string  `json:"taken"`
	Quiet   string  `json:"quiet,omitempty"`
	Threads []entry `json:"threads"`
}

type entry struct {
	ID         int    `json:"id"`
	StartTicks uint64 `json:"start"`
	CPUs       string `json:"cpus"`
}

// Write writes the account of all current threads, for CPUs that will be taken from them,
// and quiet CPUs that will be taken only from kernel threads.
func Write(path string, taken, quiet Set) error {
	threads, err := All()
	if err != nil {
		return err
	}
	a := Account{Taken: taken.String(), Quiet: quiet.String(), Threads: make([]entry, 0, len(threads))}
	for _, t := range threads {
		a.Threads = append(a.Threads, entry{t.ID, t.StartTicks, t.CPUs.String()})
	}
	// Written atomically, because undo trusts what it reads.
	if err := replace.JSON(path, a, 0o600); err != nil {
		return fmt.Errorf("write the account of threads: %w", err)
	}
	return nil
}

// maskIndex is an account indexed for lookups.
type maskIndex struct {
	// taken are the CPUs taken from user threads, off those taken from kernel threads.
	taken, off Set
	masks      map[identity]Set
}

// lost are the CPUs that were taken from a thread.
func (b *maskIndex) lost(t Thread) Set {
	if t.Kernel {
		return b.off
	}
	return b.taken
}

type identity struct {
	id    int
	start uint64
}

func read(path string) (*maskIndex, error) {
	a, err := replace.Read[Account](path)
	if err != nil {
		return nil, fmt.Errorf("read the account of threads: %w", err)
	}
	b := &maskIndex{masks: make(map[identity]Set, len(a.Threads))}
	if b.taken, err = ParseSet(a.Taken); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	quiet, err := ParseSet(a.Quiet)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	b.off = b.taken.Plus(quiet)
	parsed := map[string]Set{} // most threads have the same
	for _, e := range a.Threads {
		set, known := parsed[e.CPUs]
		if !known {
			if set, err = ParseSet(e.CPUs); err != nil {
				return nil, fmt.Errorf("read %s: %w", path, err)
			}
			parsed[e.CPUs] = set
		}
		b.masks[identity{e.ID, e.StartTicks}] = set
	}
	return b, nil
}

// Cleared says what happened to the threads when CPUs were taken from them.
type Cleared struct {
	// Moved is how many kernel threads lost the CPUs.
	Moved int
	// Fixed are the names of kernel threads that keep them, because the kernel does not
	// allow moving them: "ksoftirqd/1".
	Fixed []string
}

// Clear takes the account's CPUs from threads that may still use them: with alsoKernel from
// kernel threads, as far as the kernel allows, and from user threads that were bound to
// some CPUs, because the change of a control group resets such a binding. It leaves user threads
// that are not in the account: they belong to a lab, or started after the account was
// written.
func Clear(path string, alsoKernel bool) (Cleared, error) {
	var done Cleared
	b, err := read(path)
	if err != nil {
		return done, err
	}
	threads, err := All()
	if err != nil {
		return done, err
	}
	byID := map[int]Thread{}
	for _, t := range threads {
		byID[t.ID] = t
	}
	for _, t := range threads {
		was, known := b.masks[identity{t.ID, t.StartTicks}]
		if t.Kernel {
			if !alsoKernel || !t.CPUs.Meets(b.off) {
				continue
			}
			// One that started meanwhile gets its CPUs back from the program that started it, or keeps them.
			if _, restorable := b.inherited(t, byID); !restorable {
				continue
			}
			want := t.CPUs.Minus(b.off)
			if t.Fixed || len(want) == 0 {
				done.Fixed = append(done.Fixed, t.Name)
				continue
			}
			fault.Point("before moving a thread")
			switch err := setMask(t.ID, want); {
			case err == nil:
				done.Moved++
			case errors.Is(err, unix.ESRCH):
			default:
				done.Fixed = append(done.Fixed, t.Name)
			}
			continue
		}
		want := was.Minus(b.taken)
		if !known || len(want) == 0 || t.CPUs.Equal(want) || !t.CPUs.Holds(want) {
			continue
		}
		fault.Point("before moving a thread")
		_ = setMask(t.ID, want) // the kernel refuses for a deadline task, which keeps its mask
	}
	sort.Strings(done.Fixed)
	return done, nil
}

// Taken are the CPUs that an account says were taken from user threads; none without an account.
func Taken(path string) (Set, error) {
	b, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return b.taken, nil
}

// Restore gives every thread of the account its old mask. Repeating it does nothing; if
// there is no account, nothing was changed. note gets what was left unchanged.
func Restore(path string, note func(string)) error {
	b, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	threads, err := All()
	if err != nil {
		return err
	}
	byID := map[int]Thread{}
	for _, t := range threads {
		byID[t.ID] = t
	}
	var failures []error
	for _, t := range threads {
		was, known := b.masks[identity{t.ID, t.StartTicks}]
		if !known {
			// A child has the mask that its parent had while the CPUs were
			// taken away.
			was, known = b.inherited(t, byID)
			known = known && t.CPUs.Equal(was.Minus(b.lost(t)))
		}
		if !known || t.CPUs.Equal(was) {
			continue
		}
		if !t.CPUs.Holds(was.Minus(b.lost(t))) {
			// When a cpuset changes the kernel only ever gives more than that.
			note(fmt.Sprintf("thread %d (%s) now may use the CPUs %s, neither ours nor the %s that it had; left unchanged", t.ID, t.Name, t.CPUs, was))
			continue
		}
		err := fault.Fail("before restoring a thread")
		if err == nil {
			err = setMask(t.ID, was)
		}
		switch {
		case err == nil, errors.Is(err, unix.ESRCH):
		case errors.Is(err, unix.EINVAL) && t.Fixed:
		case errors.Is(err, unix.EINVAL):
			// Its cpuset no longer has any of them, or they are offline
			// (sched_setaffinity(2)).
			note(fmt.Sprintf("thread %d (%s) may no longer use the CPUs %s, which it had; it keeps %s", t.ID, t.Name, was, t.CPUs))
		default:
			failures = append(failures, fmt.Errorf("let thread %d (%s) use the CPUs %s: %w", t.ID, t.Name, was, err))
		}
	}
	return errors.Join(failures...)
}

// inherited is the mask that a new thread inherited: the account's mask of its nearest
// ancestor, that is its process's first thread or its parent process.
func (b *maskIndex) inherited(t Thread, byID map[int]Thread) (Set, bool) {
	for range 64 { // no process tree is that deep
		leader, ok := byID[t.Process]
		if !ok {
			return nil, false
		}
		if was, known := b.masks[identity{leader.ID, leader.StartTicks}]; known {
			return was, true
		}
		if t, ok = byID[leader.Parent]; !ok {
			return nil, false
		}
	}
	return nil, false
}

// rounds limits how often Move looks for threads that were born while it moved others.
const rounds = 50

// Moved says what happened to the tasks of a version 1 cpuset.
type Moved struct {
	Tasks int
	// Stayed are the names of those that the kernel does not allow moving.
	Stayed []string
}

// Move moves every task of one version 1 control group into another, thread by thread,
// until only those are left that the kernel does not allow moving, and those with the IDs
// in staying.
func Move(from, to string, staying ...int) (Moved, error) {
	var done Moved
	stays := map[int]string{}
	for _, id := range staying {
		stays[id] = unnamed
	}
	for range rounds {
		text, err := os.ReadFile(filepath.Join(from, "tasks"))
		if err != nil {
			return done, fmt.Errorf("list tasks: %w", err)
		}
		moved := 0
		for _, word := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(word)
			if err != nil || stays[id] != "" {
				continue
			}
			fault.Point("before moving a task")
			err = os.WriteFile(filepath.Join(to, "tasks"), []byte(word), 0o644)
			switch {
			case err == nil:
				moved++
			case errors.Is(err, unix.ESRCH):
				// It has ended; a zombie stays listed and cannot be moved.
				stays[id] = unnamed
			default:
				stays[id] = nameOf(id)
				if reason := unmovable(id, err); reason != nil {
					return done, reason
				}
			}
		}
		done.Tasks += moved
		if moved == 0 {
			break
		}
	}
	for _, name := range stays {
		if name != unnamed {
			done.Stayed = append(done.Stayed, name)
		}
	}
	slices.Sort(done.Stayed)
	return done, nil
}

// unmovable is nil for a kernel thread, some of which cannot be moved, and for a thread
// that has ended.
func unmovable(id int, err error) error {
	t, unread := readThread(filepath.Join("/proc", strconv.Itoa(id), "task", strconv.Itoa(id)))
	switch {
	case unread != nil:
		return errors.Join(fmt.Errorf("move task %d: %w", id, err), unread)
	case t == nil || t.Kernel:
		return nil
	}
	return fmt.Errorf("move task %d (%s): %w", id, t.Name, err)
}

// unnamed marks a task that stays but is not reported.
const unnamed = "-"

func nameOf(id int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "comm"))
	if err != nil {
		return unnamed
	}
	return strings.TrimSpace(string(text))
}
