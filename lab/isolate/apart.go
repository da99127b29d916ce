package isolate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/kernel/tasks"
)

// Apart keeps a host's other work off CPUs that programs have which nines did not start, such as the pods
// of a Kubernetes node: which CPUs these are changes while others stay apart. It makes no control groups,
// as those belong to the program that started them.
//
// What it changes is in folders with a journal each, below apart/ in Root:
//
//	threads       who could use which CPUs; one account, in which the CPUs change
//	settings-7    interrupts, workqueues and the like, for the CPUs since the 7th change
//
// A change makes the next settings on top of those before, which are then undone below it (package
// setting): so the CPUs that stay apart are so all the time, and those that do not get back what they had.
// It is safe for several processes.
type Apart struct {
	// Root is the state folder.
	Root string
	// Ledger is the file of the host's settings; empty is setting.HostLedger.
	Ledger string
	// Include says which threads of the host are to keep off, of those that it finds; nil is all.
	Include func(tasks.Thread) bool
	// Host is put before the host's /proc and /sys, where settings are; empty is "/".
	Host string
}

// Kept are isolated CPUs.
type Kept struct {
	// Tasks are those that no other task runs on, Quiet those of them that interrupts and workqueues
	// keep off, too.
	Tasks, Quiet tasks.Set
}

const (
	apartFolder   = "apart"
	threadsFolder = "threads"
	settingsName  = "settings-"
	apartRecord   = "apart.json"
)

// settingsRecord is what a folder of settings says of itself.
type settingsRecord struct {
	Off string `json:"off"`
	// Done is false while they are made, or if that was interrupted.
	Done  bool  `json:"done"`
	State State `json:"state"`
}

func (a Apart) place(name, record string) folder.Place {
	below := filepath.Join(apartFolder, name)
	return folder.Place{
		Root: a.Root, Below: below, Owner: below, What: "isolated CPUs",
		Elsewhere: "move it away", Again: "start nines' agent of this node", Written: []string{record, record + replace.Unfinished},
	}
}

func (a Apart) threads() folder.Place { return a.place(threadsFolder, AccountFile) }

func (a Apart) settings(number int) folder.Place {
	return a.place(settingsName+strconv.Itoa(number), apartRecord)
}

func (a Apart) ledger() string { return cmp.Or(a.Ledger, setting.HostLedger) }

// Keep has these CPUs kept apart from now on, and no others; none undoes all. housekeeping are CPUs for what
// would have no other. It may be called again at any time, also after it was killed. State is what is
// in force; note gets what others have changed, which stays.
func (a Apart) Keep(ctx context.Context, kept Kept, housekeeping tasks.Set, note func(string)) (s State, err error) {
	dir := filepath.Join(a.Root, apartFolder)
	if len(kept.Tasks) == 0 {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return s, nil
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder of isolated CPUs: %w", err)
	}
	lock, err := flock.Wait(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return s, fmt.Errorf("wait for another process that isolates CPUs: %w", err)
	}
	defer func() {
		err = errors.Join(err, lock.Remove())
		_ = os.Remove(dir) // where it is empty
	}()
	if s, err = a.keepSettings(ctx, kept.Quiet, housekeeping, note); err != nil {
		return s, fmt.Errorf("keep interrupts off the CPUs %s: %w", kept.Quiet, err)
	}
	s.CPUs, s.HostCPUs = kept.Tasks, housekeeping
	cleared, err := a.keepThreads(ctx, kept.Tasks, note)
	if err != nil {
		return s, fmt.Errorf("keep other tasks off the CPUs %s: %w", kept.Tasks, err)
	}
	s.cleared(cleared)
	return s, nil
}

// keepThreads takes the CPUs from threads.
func (a Apart) keepThreads(ctx context.Context, taken tasks.Set, note func(string)) (tasks.Cleared, error) {
	held, err := folder.Take(a.threads())
	if errors.Is(err, fs.ErrNotExist) {
		held, err = nil, nil
	}
	if err != nil {
		return tasks.Cleared{}, err
	}
	if held != nil && (len(taken) == 0 || !held.SinceBoot() || held.Journal.Damaged() != nil) {
		if err := held.Undo(ctx, note); err != nil {
			return tasks.Cleared{}, err
		}
		held = nil
	}
	if len(taken) == 0 {
		return tasks.Cleared{}, nil
	}
	account := filepath.Join(a.threads().Path(), AccountFile)
	retake := func() error { return tasks.Retake(account, taken, a.Include, note) }
	if held == nil {
		if held, err = folder.Begin(a.threads()); err != nil {
			return tasks.Cleared{}, err
		}
	}
	if recorded(held.Journal) {
		err = retake()
	} else {
		err = recordThreads(held.Journal, account, retake)
	}
	var cleared tasks.Cleared
	if err == nil {
		cleared, err = tasks.Clear(account, true)
	}
	return cleared, errors.Join(err, held.Close())
}

// keepSettings makes the settings for the CPUs, if they are not in force, and undoes those before.
func (a Apart) keepSettings(ctx context.Context, off, housekeeping tasks.Set, note func(string)) (State, error) {
	before, err := a.generations()
	if err != nil {
		return State{}, err
	}
	if len(before) == 1 && len(off) > 0 {
		record, err := a.record(before[0])
		j, unread := journal.Read(a.settings(before[0]).Journal())
		if err == nil && unread == nil && j.SinceBoot() && record.Done && record.Off == off.String() {
			return record.State, nil
		}
	}
	var s State
	if len(off) > 0 {
		next := 1
		if len(before) > 0 {
			next = before[len(before)-1] + 1
		}
		was, err := a.originals(before)
		if err != nil {
			return s, err
		}
		if s, err = a.begin(ctx, next, Away{
			Root: cmp.Or(a.Host, "/"), Off: off, Housekeeping: housekeeping, Held: setting.Held(a.ledger()), Was: was,
		}); err != nil {
			return s, err
		}
		note = nil // what is below the new settings is covered by them
	}
	for _, number := range slices.Backward(before) {
		held, err := folder.Take(a.settings(number))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			a.spoil(number)
			err = held.Undo(ctx, note)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// spoil has nobody take settings for whole whose undo is killed. Without room on the disk they may be.
func (a Apart) spoil(number int) {
	if record, err := a.record(number); err == nil && record.Done {
		record.Done = false
		_ = replace.JSON(filepath.Join(a.settings(number).Path(), apartRecord), record, 0o600)
	}
}

// begin makes settings in a folder of their own.
func (a Apart) begin(ctx context.Context, number int, away Away) (State, error) {
	held, err := folder.Begin(a.settings(number))
	if err != nil {
		return State{}, err
	}
	record := settingsRecord{Off: away.Off.String()}
	path := filepath.Join(held.Path(), apartRecord)
	err = replace.JSON(path, record, 0o600)
	if err == nil {
		var made []tune.Result
		if made, err = keepOff(ctx, held.Journal, a.ledger(), away); err == nil {
			record.State.take(made)
			record.State.Notes, record.State.refused = refusals(record.State.refused), nil
			record.Done = true
			err = replace.JSON(path, record, 0o600)
		}
	}
	if err != nil {
		return State{}, errors.Join(err, held.Undo(context.WithoutCancel(ctx), nil))
	}
	return record.State, held.Close()
}

// generations are the numbers of the folders of settings, in their order.
func (a Apart) generations() ([]int, error) {
	// filepath.Glob would take a folder that cannot be read for an empty one.
	entries, err := os.ReadDir(filepath.Join(a.Root, apartFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the settings that keep CPUs apart: %w", err)
	}
	var numbers []int
	for _, entry := range entries {
		number, found := strings.CutPrefix(entry.Name(), settingsName)
		if n, err := strconv.Atoi(number); found && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (a Apart) record(number int) (settingsRecord, error) {
	return replace.Read[settingsRecord](filepath.Join(a.settings(number).Path(), apartRecord))
}

// originals are what files held before the first of these settings that wrote them.
func (a Apart) originals(numbers []int) (map[string]string, error) {
	was := map[string]string{}
	for _, number := range numbers {
		j, err := journal.Read(a.settings(number).Journal())
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrEmpty) || err == nil && !j.SinceBoot() {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range j.Entries() {
			if _, known := was[e.Path]; e.Kind != setting.Kind || known {
				continue
			}
			old, held, err := setting.Before(e)
			if err != nil {
				return nil, err
			}
			if held {
				was[e.Path] = old
			}
		}
	}
	return was, nil
}

// Look are the isolated CPUs, as was begun last, for who starts again.
func (a Apart) Look() (Kept, error) {
	var kept Kept
	taken, err := tasks.Taken(filepath.Join(a.threads().Path(), AccountFile))
	if err != nil {
		return kept, err
	}
	kept.Tasks = taken
	numbers, err := a.generations()
	if err != nil || len(numbers) == 0 {
		return kept, err
	}
	record, err := a.record(numbers[len(numbers)-1])
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		kept.Quiet, err = tasks.ParseSet(record.Off)
	}
	return kept, err
}
