package tasks

import (
	"encoding/json"
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

// Account is which CPUs the threads of a host might use before some were taken.
type Account struct {
	// Taken are the CPUs that are taken from all others; Quiet are those that are taken
	// from threads of the kernel only.
	Taken   string  `json:"taken"`
	Quiet   string  `json:"quiet,omitempty"`
	Threads []entry `json:"threads"`
}

type entry struct {
	ID         int    `json:"id"`
	StartTicks uint64 `json:"start"`
	CPUs       string `json:"cpus"`
}

// Write makes the account of all threads now, for CPUs that will be taken from them, and
// quiet ones that will be taken from the kernel's only.
func Write(path string, taken, quiet Set) error {
	threads, err := All()
	if err != nil {
		return err
	}
	a := Account{Taken: taken.String(), Quiet: quiet.String(), Threads: make([]entry, 0, len(threads))}
	for _, t := range threads {
		a.Threads = append(a.Threads, entry{t.ID, t.StartTicks, t.CPUs.String()})
	}
	// Whole or not at all: undo believes what it reads.
	if err := replace.JSON(path, a, 0o600); err != nil {
		return fmt.Errorf("write the account of threads: %w", err)
	}
	return nil
}

// book is an account that can be looked things up in.
type book struct {
	// taken are the CPUs taken from users' threads, off those taken from the kernel's.
	taken, off Set
	masks      map[identity]Set
}

// lost are the CPUs that were taken from a thread.
func (b *book) lost(t Thread) Set {
	if t.Kernel {
		return b.off
	}
	return b.taken
}

type identity struct {
	id    int
	start uint64
}

func read(path string) (*book, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the account of threads: %w", err)
	}
	var a Account
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	b := &book{masks: make(map[identity]Set, len(a.Threads))}
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

// Cleared says what became of the threads when CPUs were taken from them.
type Cleared struct {
	// Moved are the kernel's threads that had the CPUs and have them no more.
	Moved int
	// Fixed are names of those that keep them, because the kernel lets nobody move them:
	// "ksoftirqd/1".
	Fixed []string
}

// Clear takes the account's CPUs from the threads that are still allowed there: of the
// kernel's, where alsoKernel is true, all that it lets us move; of the others those that
// somebody had bound to some CPUs, which the change of a control group makes forget that.
// Threads that are no longer, or not yet, in the account are a lab's own or newer than
// what was taken, and are left.
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
	for _, t := range threads {
		was, known := b.masks[identity{t.ID, t.StartTicks}]
		if t.Kernel {
			if !alsoKernel || !t.CPUs.Meets(b.off) {
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
		_ = setMask(t.ID, want) // a deadline task is refused, and keeps what the kernel gave it
	}
	sort.Strings(done.Fixed)
	return done, nil
}

// Restore gives every thread of the account its own mask again. Doing it again does
// nothing, and an account that is not there was never followed by a change. note is told
// what was left alone.
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
			// A child has the mask that its parent had while the CPUs were taken.
			was, known = b.inherited(t, byID)
			known = known && t.CPUs.Equal(was.Minus(b.lost(t)))
		}
		if !known || t.CPUs.Equal(was) {
			continue
		}
		if !t.CPUs.Holds(was.Minus(b.lost(t))) {
			// The kernel only ever gives more than that, when a cpuset changes.
			note(fmt.Sprintf("thread %d (%s) may use the CPUs %s by now, neither ours nor the %s that it had; left as it is", t.ID, t.Name, t.CPUs, was))
			continue
		}
		switch err := setMask(t.ID, was); {
		case err == nil, errors.Is(err, unix.ESRCH):
		case errors.Is(err, unix.EINVAL) && t.Fixed:
		case errors.Is(err, unix.EINVAL):
			// Its cpuset has none of them by now, or they are offline (sched_setaffinity(2)).
			note(fmt.Sprintf("thread %d (%s) may use none of the CPUs %s any more, which it had; it keeps %s", t.ID, t.Name, was, t.CPUs))
		default:
			failures = append(failures, fmt.Errorf("let thread %d (%s) use the CPUs %s: %w", t.ID, t.Name, was, err))
		}
	}
	return errors.Join(failures...)
}

// inherited is the mask in the account of the nearest that a new thread comes from: its
// process's first thread, or its parent's.
func (b *book) inherited(t Thread, byID map[int]Thread) (Set, bool) {
	for range 64 { // no family is that old
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

// rounds bounds how often threads are looked for that were born while others were moved.
const rounds = 50

// Moved is what became of the tasks of a cpuset of version 1.
type Moved struct {
	Tasks int
	// Stayed are the names of those that the kernel lets nobody move.
	Stayed []string
}

// Move moves every task of one control group of version 1 into another, thread by
// thread, until there are none left but those that the kernel lets nobody move, and those
// that are to stay, by their ids.
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
				// It has ended; a zombie stays listed, and cannot be moved.
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

// unmovable is nil for a thread of the kernel, of which some cannot be moved, and for
// what has ended.
func unmovable(id int, err error) error {
	t, alive := readThread(filepath.Join("/proc", strconv.Itoa(id), "task", strconv.Itoa(id)))
	if !alive || t.Kernel {
		return nil
	}
	return fmt.Errorf("move task %d (%s): %w", id, t.Name, err)
}

// unnamed is what is not told of what stays.
const unnamed = "-"

func nameOf(id int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "comm"))
	if err != nil {
		return unnamed
	}
	return strings.TrimSpace(string(text))
}
