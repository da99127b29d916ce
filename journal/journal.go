package journal

import (
	"bufio"
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

// Header is the first line of a journal.
type Header struct {
	// Form names the file format.
	Form string `json:"journal"`
	// Lab and Prefix are the lab's.
	Lab    string `json:"lab"`
	Prefix string `json:"prefix"`
	// BootID is the kernel's, as in /proc/sys/kernel/random/boot_id: after a reboot
	// every process, device and control group of the journal is gone. Create fills it in
	// if it is empty.
	BootID string `json:"boot_id"`
	// Token is the prefix of the tokens of all steps.
	Token string `json:"token"`
}

const form = "nines/journal/v1"

// Journal is an open journal.
type Journal struct {
	Header Header
	// boot is the ID of the current boot.
	boot string

	mu      sync.Mutex
	file    *os.File
	size    int64
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
	j := &Journal{Header: header, boot: id, file: file, nextID: 1, entries: map[int]*Entry{}}
	if err := j.append(header); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return j, nil
}

// Open reads a journal and opens it for appending, after the last whole line.
func Open(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	j, err := read(file)
	if err != nil {
		return nil, errors.Join(about(path, err), file.Close())
	}
	j.file = file
	// If this fails, the torn line is cut off before the next append.
	_ = file.Truncate(j.size)
	return j, nil
}

// Read reads a journal without opening it for appending.
func Read(path string) (*Journal, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	defer file.Close()
	j, err := read(file)
	return j, about(path, err)
}

// ReadHeader reads the first line of a journal.
func ReadHeader(path string) (Header, error) {
	file, err := os.Open(path)
	if err != nil {
		return Header{}, fmt.Errorf("open the journal: %w", err)
	}
	defer file.Close()
	text, err := bufio.NewReader(file).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err = ErrEmpty
	}
	j := Journal{}
	if err == nil {
		err = j.takeLine(file, 1, text)
	}
	return j.Header, about(path, err)
}

// about adds the journal's path to an error without it.
func about(path string, err error) error {
	if err == nil || errors.As(err, new(*DamagedError)) {
		return err
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// Close closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// Path returns the file's path.
func (j *Journal) Path() string { return j.file.Name() }

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
	if err := j.append(line{Intent: id, Step: &step}); err != nil {
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
	if err := j.append(line{Done: id, Learnt: &learnt}); err != nil {
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
		_ = j.append(line{Undone: ids})
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
