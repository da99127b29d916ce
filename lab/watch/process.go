package watch

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
)

// watcherStep is the Name of the watcher's step in the journal; it is of no node.
const watcherStep = "nines watch"

// IsWatcher is true for the step of a lab's watcher.
func IsWatcher(e journal.Entry) bool {
	return e.Kind == process.Kind && e.Name == watcherStep && e.Node == "" && e.Link == ""
}

// Starter starts the process that watches a lab.
type Starter struct {
	*running.Lab
	// Place is where the nodes are made.
	Place node.Place
	// Nines is the program nines.
	Nines string
}

// Start starts the process that watches the lab's nodes, if some are watched and none runs, and
// ends one that has nothing to do. A lab that is measured has none: the process that measures it, which holds
// the lab's lock, watches it.
func (s Starter) Start(ctx context.Context) error {
	now := process.OfStep(s.Place.Journal, IsWatcher)
	if s.Plan().Watched() && now.PID != 0 && now.Alive() {
		return nil
	}
	if err := s.Place.Journal.Undo(ctx, s.Place.Progress, IsWatcher); err != nil || !s.Plan().Watched() {
		return errors.Join(err, os.RemoveAll(s.State().Health()))
	}
	token := s.Place.Journal.Token("watch")
	return process.Make(s.Place.Journal, journal.Step{Name: watcherStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.OpenFile(s.State().WatcherLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		return node.Spawn(exec.Command(s.Nines, "watch", s.Name()), token, log)
	})
}
