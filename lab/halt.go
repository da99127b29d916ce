package lab

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// halting is Place.Halt or Place.ShutDown.
type halting func(context.Context, plan.Node, *node.Running) error

// haltAll lets what runs in nodes end by itself, in all of them at once: each may take as long as node.HaltPatience.
func haltAll(ctx context.Context, l *running.Lab, nodes []plan.Node, halt halting) error {
	failures := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { failures[i] = halt(ctx, n, l.Running(n.Name)) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// halt lets what runs in the lab's nodes end by itself, before it is killed. Of a lab that cannot be read, as nines was
// killed while it made that, all is just killed; so is what could not be asked to end.
func (h *holding) halt(ctx context.Context, note func(string)) {
	l, err := running.Open(filepath.Base(h.state.Dir))
	if err != nil {
		return
	}
	place, one := l.Place(""), sync.Mutex{}
	place.Progress = func(overdue string) {
		one.Lock()
		defer one.Unlock()
		note(overdue)
	}
	if err := haltAll(ctx, l, l.Plan().Nodes, place.Halt); err != nil && ctx.Err() == nil {
		note(err.Error())
	}
}
