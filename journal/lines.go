package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"nines.dev/nines/kernel/boot"
)

// line is one line after the header: an intent, a done or an undone.
type line struct {
	Intent int `json:"intent,omitempty"`
	*Step
	Done int `json:"done,omitempty"`
	*Learnt
	Undone []int `json:"undone,omitempty"`
}

// append writes one line, whole or not at all.
func (j *Journal) append(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	text = append(text, '\n')
	n, err := j.file.Write(text)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, j.file.Truncate(j.size))
		}
		return fmt.Errorf("cannot write to the journal: %w", err)
	}
	j.size += int64(n)
	return nil
}

// read takes all whole lines. If the last line is torn, its step was never made.
func read(file *os.File) (*Journal, error) {
	id, err := boot.ID()
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(file, 1<<20)
	j := &Journal{boot: id, nextID: 1, entries: map[int]*Entry{}}
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := j.takeLine(file, number, text); err != nil {
			if _, last := in.Peek(1); errors.Is(last, io.EOF) && number > 1 {
				break
			}
			return nil, err
		}
		j.size += int64(len(text))
	}
	if j.Header.Form == "" {
		return nil, ErrEmpty
	}
	return j, nil
}

// DamagedError means that a line of a journal cannot be read, and that it is not the last line, which a
// crash may have cut off.
type DamagedError struct {
	Path string
	Line int
	Err  error
}

func (e *DamagedError) Error() string {
	remedy := "repair the line, or delete it: nines down then undoes all other steps"
	if e.Line == 1 {
		remedy = "repair the line, which names the lab; or reboot and remove the folder"
	}
	return fmt.Sprintf("%s: line %d is damaged (%v); %s", e.Path, e.Line, e.Err, remedy)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// ErrEmpty means that the journal has no header: its creator died before it made anything.
var ErrEmpty = errors.New("the journal is empty")

func (j *Journal) takeLine(file *os.File, number int, text []byte) error {
	if err := j.take(number, bytes.TrimSpace(text)); err != nil {
		return &DamagedError{Path: file.Name(), Line: number, Err: err}
	}
	return nil
}

func (j *Journal) take(number int, text []byte) error {
	if number == 1 {
		if err := json.Unmarshal(text, &j.Header); err != nil {
			return err
		}
		if j.Header.Form != form {
			return fmt.Errorf("the journal's format is %q; this version of nines reads %q", j.Header.Form, form)
		}
		return nil
	}
	l := line{Step: &Step{}, Learnt: &Learnt{}}
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Intent > 0:
		j.entries[l.Intent] = &Entry{ID: l.Intent, Step: *l.Step}
		j.nextID = max(j.nextID, l.Intent+1)
	case l.Done > 0:
		if entry := j.entries[l.Done]; entry != nil {
			entry.Learnt = l.Learnt
		}
	case len(l.Undone) > 0:
		for _, id := range l.Undone {
			delete(j.entries, id)
		}
	}
	return nil
}
