package journal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kind is a kind of thing that a step makes: a process, a device, a control group. The file
// that makes such things also registers the kind, so that a program that can make one can
// also undo it.
type Kind string

// Undo says how to undo steps of a kind.
type Undo struct {
	// Step undoes one step. The step may never have been made, or may already have been
	// undone, and what exists now may belong to another program.
	Step func(context.Context, Undoing) error
	// Ender is set instead for processes. It ends them before anything else is undone, those
	// of all kinds with the same Ender at once.
	Ender Ender
	// Lasting is true for things that survive a reboot: files.
	Lasting bool
	// Lost says what of the kind no search finds or restores, if its line is lost: "old values of settings". Empty
	// for what a search finds (RegisterSearch), and for what disappears with that.
	Lost string
}

// Ender ends the processes of steps, and returns when they and their namespaces are gone.
type Ender interface {
	End(ctx context.Context, entries []Entry, note func(string)) error
}

// Undoing is a step to undo.
type Undoing struct {
	Entry
	// Starter is the step with the number Holder; nil if its process has been ended.
	Starter *Entry
	// Unended is true if processes of the journal could not be ended: what they use stays in use, and
	// waiting for it is pointless.
	Unended bool
	// Note receives what stays unchanged, and why.
	Note func(string)

	left *time.Duration // of the patience
}

// Notef is Note with a format.
func (u Undoing) Notef(format string, args ...any) { u.Note(fmt.Sprintf(format, args...)) }

// registered has the kinds that this program can make and undo. Only the initialization of packages
// writes to it.
var registered = map[Kind]Undo{}

// Register makes a kind known, and returns it. It panics if the kind is already registered.
func Register(kind Kind, undo Undo) Kind {
	if _, twice := registered[kind]; twice || (undo.Step == nil) == (undo.Ender == nil) {
		panic(fmt.Sprintf("journal: kind %q is registered twice, or does not have exactly one of Step and Ender", kind))
	}
	registered[kind] = undo
	return kind
}

// Kinds returns the registered kinds, sorted.
func Kinds() []Kind { return slices.Sorted(maps.Keys(registered)) }

// UnknownKindError means that this program does not know the step's kind.
type UnknownKindError struct{ Kind Kind }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("this version of nines does not know steps of the kind %q, and leaves them in the journal; use the version that made them, or a newer one", e.Kind)
}
