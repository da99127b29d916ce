package journal

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Kind is a kind of thing that a step makes: a process, a device, a control group. Who
// makes such things registers the kind in the file where it does, so that a program that
// can make one can undo it.
type Kind string

// Undo says how steps of a kind are undone.
type Undo struct {
	// Step undoes one step. The step may never have been made, or be undone already, and
	// what is there may be somebody else's by now.
	Step func(context.Context, Undoing) error
	// Ender is set instead for processes: these are ended before all else is undone, those
	// of all kinds with the same Ender at once.
	Ender Ender
	// Lasting is true for what is still there after a reboot: files.
	Lasting bool
}

// Ender ends what steps have started, and returns when that and its namespaces are gone.
type Ender interface {
	End(ctx context.Context, entries []Entry, note func(string)) error
}

// Undoing is a step that is to be undone.
type Undoing struct {
	Entry
	// Starter is the step that Holder names; nil if its process has been ended.
	Starter *Entry
	// Note is told what is left alone, and why.
	Note func(string)
}

// Notef is Note with a format.
func (u Undoing) Notef(format string, args ...any) { u.Note(fmt.Sprintf(format, args...)) }

// registered are the kinds that this program can make and undo. It is written only while
// packages are initialized.
var registered = map[Kind]Undo{}

// Register makes a kind known, and returns it. A kind that is there already is a mistake
// of the program.
func Register(kind Kind, undo Undo) Kind {
	if _, twice := registered[kind]; twice || (undo.Step == nil) == (undo.Ender == nil) {
		panic(fmt.Sprintf("journal: kind %q is registered twice, or has not one way to undo it", kind))
	}
	registered[kind] = undo
	return kind
}

// Kinds are those that are registered, sorted.
func Kinds() []Kind { return slices.Sorted(maps.Keys(registered)) }

// UnknownKindError is a step of a kind that this program has not got.
type UnknownKindError struct{ Kind Kind }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("this nines does not know steps of the kind %q, and leaves them in the journal; use the nines that made them, or a newer one", e.Kind)
}
