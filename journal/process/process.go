// Package process has the steps that start a process. Undo ends all processes of a journal at
// once, before anything else, so that the kernel removes their namespaces together. A process
// gets a token in its arguments or environment when it starts, so that undo finds it even if its
// maker died before the journal learnt the process.
package process

import (
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/proc"
)

// Kind is a process. Undo kills it if its start time matches the journal's. If the maker died
// before it wrote one, undo kills a process whose arguments or environment contain Token.
var Kind = Register("process", Traits{})

// Traits are the properties of a kind of process.
type Traits struct {
	// More is true if further processes besides the learnt one may hold Token; they are
	// killed too.
	More bool
	// Monitor reports whether a process watches what the step started: it ends by itself,
	// and gets time to clean up. Nil if the kind has no monitors.
	Monitor func(journal.Entry, proc.Identity) (bool, error)
}

func (t Traits) isMonitor(entry journal.Entry, id proc.Identity) (bool, error) {
	if t.Monitor == nil {
		return false, nil
	}
	return t.Monitor(entry, id)
}

var traits = map[journal.Kind]Traits{}

// Register makes a kind of process known to the journal.
func Register(kind journal.Kind, t Traits) journal.Kind {
	traits[kind] = t
	return journal.Register(kind, journal.Undo{Ender: ender{}})
}

// Make starts a process as a step of the journal, of the Kind of this package.
func Make(j *journal.Journal, step journal.Step, start func() (proc.Identity, error)) error {
	step.Kind = Kind
	return j.Make(step, func() (journal.Learnt, error) {
		id, err := start()
		return Learnt(id), err
	})
}

// Learnt returns what the journal stores of a process.
func Learnt(id proc.Identity) journal.Learnt {
	return journal.Learnt{PID: id.PID, StartTicks: id.StartTicks}
}

// Of returns the process that a step started; zero if the journal did not learn one.
func Of(entry journal.Entry) proc.Identity {
	id, _ := find(entry) // the learnt one on an error
	return id
}

// find is Of. Another start than the learnt one does not mean that the process has ended, if the process of this ID
// holds the step's token: earlier versions wrote the start as their time namespace shows it.
func find(entry journal.Entry) (proc.Identity, error) {
	if entry.Learnt == nil {
		return proc.Identity{}, nil
	}
	id := proc.Identity{PID: entry.Learnt.PID, StartTicks: entry.Learnt.StartTicks}
	if entry.Token == "" || id.PID == 0 || id.Alive() {
		return id, nil
	}
	now, err := proc.Of(id.PID)
	if proc.IsGone(err) {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	if ours, err := now.Holds(entry.Token); !ours || err != nil {
		return id, err
	}
	return now, nil
}

// OfStep is the process of a step that of selects; zero without one.
func OfStep(j *journal.Journal, of func(journal.Entry) bool) proc.Identity {
	for _, e := range j.Entries() {
		if of(e) && e.Learnt != nil {
			return Of(e)
		}
	}
	return proc.Identity{}
}
