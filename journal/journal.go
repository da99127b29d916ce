package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/boot"
)

// Journal is an open journal.
type Journal struct {
	Header Header
	path   string
	// boot is the ID of the current boot.
	boot string
	// damage is what is wrong with the file. suspect is true if an operation was cut off: by a crash, or by someone
	// who cut the file.
	damage  []Damage
	suspect bool

	mu      sync.Mutex
	file    *os.File
	size    int64
	number  int
	changed bool
	nextID  int
	entries map[int]*Entry
}

// Create starts a journal.
func Create(path string, header Header) (*Journal, error) {
	id, err := boot.ID()
	if err != nil {
		return nil, fmt.Errorf("start the journal: %w", err)
	}
	if header.Form = form; header.BootID == "" {
		header.BootID = id
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the journal: %w", err)
	}
	j := &Journal{Header: header, path: path, boot: id, file: file, nextID: 1, entries: map[int]*Entry{}}
	err = j.append(header)
	if err == nil {
		err = copyHeader(path, header)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	j.changed = false
	return j, nil
}

// Open reads a journal and opens it for appending, after the last whole line. The error is a *DamagedError if
// anything is wrong with it.
func Open(path string) (*Journal, error) { return whole(Salvage(path)) }

// Read reads a journal without opening it for appending. Its errors are those of Open.
func Read(path string) (*Journal, error) { return whole(Inspect(path)) }

// Salvage is Open for an undo: of a damaged journal it takes the lines that prove themselves (UndoAll). If the
// file is missing or has no first line, the copy of that line says whose it is.
func Salvage(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	j, err := read(path, file, err)
	if err != nil && file != nil {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return nil, err
	}
	if j.file = file; file != nil {
		// If this fails, the torn line is cut off before the next append.
		_ = file.Truncate(j.size)
	}
	return j, nil
}

// Inspect is Salvage without opening the journal for appending.
func Inspect(path string) (*Journal, error) {
	file, err := os.Open(path)
	if file != nil {
		defer file.Close()
	}
	return read(path, file, err)
}

func read(path string, file *os.File, err error) (*Journal, error) {
	header, uncopied := readCopy(path)
	if err != nil && (uncopied != nil || !errors.Is(err, fs.ErrNotExist)) {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	var text []byte
	if file != nil {
		if text, err = io.ReadAll(file); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	c, err := parse(text, header)
	if damaged := new(DamagedError); errors.As(err, &damaged) {
		damaged.Path = path
		return nil, damaged
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	id, err := boot.ID()
	if err != nil {
		return nil, err
	}
	return &Journal{
		Header: c.header, path: path, boot: id, damage: c.damage, suspect: !c.ended,
		size: c.size, number: c.number, nextID: c.nextID, entries: c.entries,
	}, nil
}

// whole refuses a damaged journal.
func whole(j *Journal, err error) (*Journal, error) {
	if err != nil {
		return nil, err
	}
	if err := j.Damaged(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Damaged is a *DamagedError if anything is wrong with the file; otherwise nil.
func (j *Journal) Damaged() error {
	if len(j.damage) == 0 {
		return nil
	}
	return &DamagedError{Path: j.path, Damage: j.damage}
}

// Close ends the operation, and closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end()
	return j.file.Close()
}

// Path returns the file's path.
func (j *Journal) Path() string { return j.path }

// SinceBoot returns true if the journal is from the current boot.
func (j *Journal) SinceBoot() bool { return j.Header.BootID == j.boot }

// Token returns the token of a step for name.
func (j *Journal) Token(name string) string { return j.Header.Token + ":" + name }

// Make journals a step's intent, makes it, and journals what was learnt.
func (j *Journal) Make(step Step, make func() (Learnt, error)) error {
	id, err := j.Begin(step)
	if err != nil {
		return err
	}
	learnt, err := make()
	if err != nil {
		return err
	}
	return j.Done(id, learnt)
}

// MakeFolder makes a step that is a folder, Path. If the path already exists, it does not belong to the step
// and stays; the error is then fs.ErrExist.
func (j *Journal) MakeFolder(step Step, mode fs.FileMode) error {
	inode, err := Inode(step.Path)
	if err != nil {
		return err
	}
	if inode != 0 {
		return &fs.PathError{Op: "mkdir", Path: step.Path, Err: fs.ErrExist}
	}
	id, err := j.Begin(step)
	if err != nil {
		return err
	}
	if err := os.Mkdir(step.Path, mode); err != nil {
		if errors.Is(err, fs.ErrExist) { // another program has made it meanwhile
			j.Forget(id)
		}
		return err
	}
	learnt, err := Learn(step.Path)
	if err != nil {
		return err
	}
	return j.Done(id, learnt)
}

// Begin journals the intent of a step and returns its number. If it returns an error, the
// step must not be made.
func (j *Journal) Begin(step Step) (int, error) {
	if _, known := registered[step.Kind]; !known {
		return 0, fmt.Errorf("cannot make %s: no package has registered how to undo it", step)
	}
	fault.Point("before intent", string(step.Kind))
	j.mu.Lock()
	defer j.mu.Unlock()
	id := j.nextID
	if err := j.appendLine(line{Intent: id, Step: &step}); err != nil {
		return 0, fmt.Errorf("cannot make %s: %w", step, err)
	}
	j.nextID++
	j.entries[id] = &Entry{ID: id, Step: step}
	fault.Point("after intent", string(step.Kind))
	return id, nil
}

// Done journals that a step was made. It keeps what was learnt in memory even if the disk
// is full, so that the caller can undo the step.
func (j *Journal) Done(id int, learnt Learnt) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	entry := j.entries[id]
	if entry == nil {
		return fmt.Errorf("journal: step %d never began", id)
	}
	fault.Point("after making", string(entry.Kind))
	entry.Learnt = &learnt
	if err := j.appendLine(line{Done: id, Learnt: &learnt}); err != nil {
		return fmt.Errorf("made %s, but could not journal that: %w", entry.Step, err)
	}
	fault.Point("after done", string(entry.Kind))
	return nil
}

// Entries returns the steps that have not been undone, in the order in which they were made.
func (j *Journal) Entries() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := make([]Entry, 0, len(j.entries))
	for id := 1; id < j.nextID; id++ {
		if e := j.entries[id]; e != nil {
			entries = append(entries, *e)
		}
	}
	return entries
}

// Forget journals that steps have been undone, or were not made. It ignores a full disk: undoing
// a step again does nothing.
func (j *Journal) Forget(ids ...int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		delete(j.entries, id)
	}
	if len(ids) > 0 && j.file != nil {
		_ = j.appendLine(line{Undone: ids})
	}
}

// String names a step for messages.
func (s Step) String() string {
	parts := []string{string(s.Kind)}
	for _, part := range []string{s.Name, s.Path} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 1 && s.Node != "" {
		parts = append(parts, "of node "+s.Node)
	}
	return strings.Join(parts, " ")
}
