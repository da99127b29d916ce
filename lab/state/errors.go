package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/terminal"
)

// WriteError means that a file of the labs' state could not be written.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	remedy := ""
	switch {
	case replace.IsFull(e.Err):
		remedy = "; free some space there, or keep the labs elsewhere (NINES_STATE_DIR=…)"
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.EROFS):
		remedy = "; keep the labs elsewhere (NINES_STATE_DIR=…)"
	}
	return fmt.Sprintf("cannot write %s: %v%s", e.Path, e.Err, remedy)
}

func (e *WriteError) Unwrap() error { return e.Err }

// Explain turns a system error about a file below the labs' folder into a WriteError, whichever
// file it is: the journal, a ledger, the plan. An error with other causes too stays unchanged, and
// so must remedies, which callers wrap around it.
func Explain(err error) error {
	if full := fullState(err); full != nil {
		return full
	}
	return err
}

// fullState returns the first of an error's causes, if each cause is a file below the labs' folder
// that did not fit on the disk.
func fullState(err error) *WriteError {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var first *WriteError
		for _, cause := range several.Unwrap() {
			full := fullState(cause)
			if full == nil {
				return nil
			}
			first = cmp.Or(first, full)
		}
		return first
	}
	var file *fs.PathError
	if !errors.As(err, &file) || !replace.IsFull(file) {
		return nil
	}
	if below, other := filepath.Rel(Root(), file.Path); other != nil || !filepath.IsLocal(below) {
		return nil
	}
	return &WriteError{strings.TrimSuffix(file.Path, ".new"), file.Err}
}

// NotFoundError means that a lab does not exist.
type NotFoundError struct {
	Name string
	// meant is a question whether a lab with a similar name is meant; empty if there is none.
	meant string
}

// NotFound is the error that a lab does not exist.
func NotFound(name string) *NotFoundError {
	entries, _ := os.ReadDir(filepath.Join(Root(), "labs")) // no list, no question
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return &NotFoundError{Name: name, meant: terminal.DidYouMean(name, names)}
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("lab %q does not exist; ", e.Name)
	if e.meant != "" {
		text += e.meant + " "
	}
	return text + "nines ls lists the labs"
}

// ExitCode is 2: the command names something that does not exist.
func (e *NotFoundError) ExitCode() int { return exit.Wrong }

// BusyError means that another process is changing a lab.
type BusyError struct {
	// Name is the lab's name; empty for the list of labs, which a starting lab holds.
	Name string
	// PID is the other process; 0 if unknown.
	PID int
	// Measuring is the experiment that the process measures, and Since its start; empty if the
	// process changes the lab.
	Measuring string
	Since     time.Time
}

func (e *BusyError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("process %d has been starting another lab for a while; wait for it, or end it", e.PID)
	}
	if e.Measuring != "" {
		return fmt.Sprintf("lab %q is being measured by process %d since %s, for experiment %q; wait for it, or end it; another lab needs another name (--set name=…)",
			e.Name, e.PID, e.Since.Format(time.DateTime), e.Measuring)
	}
	if e.PID == 0 {
		return fmt.Sprintf("lab %q is being changed by another process; wait for it, or end it", e.Name)
	}
	return fmt.Sprintf("lab %q is being changed by process %d; wait for it, or end it", e.Name, e.PID)
}

// NeedRoot turns a permission error into an error that says that root is needed. For root it stays: something else
// has refused it.
func NeedRoot(err error) error {
	if err != nil && os.Geteuid() == 0 {
		return err
	}
	return &exit.MissingError{
		Capability: "root", Reason: "network namespaces, devices and control groups need it", Err: err,
		Remedy: "run it with sudo; nines plan and nines validate work without",
	}
}

// explainReadOnly says what to do where nines cannot write in a folder of its own, as the file system is mounted
// read-only; other errors stay.
func explainReadOnly(err error, folder string) error {
	if !errors.Is(err, syscall.EROFS) {
		return err
	}
	remedy := "mount -o remount,rw the file system that it is on"
	if folder == Root() {
		remedy += ", or set NINES_STATE_DIR to a folder on another, such as a tmpfs"
	}
	return &exit.MissingError{Capability: "a writable " + folder, Reason: "nines keeps there what it makes", Err: err, Remedy: remedy}
}

// ExplainUnseen names a lab that does not exist, or that only root sees; other errors stay.
func ExplainUnseen(err error, name string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NotFound(name)
	case errors.Is(err, fs.ErrPermission):
		return NeedRoot(err)
	}
	return err
}
