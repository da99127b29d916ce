package lab

import (
	"context"
	"errors"
	"slices"

	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// Exchange puts other programs into a lab that this process measures: other services, and other images of nodes, which
// start again with all that runs in them, and waits until its nodes are healthy. It does nothing and is false where the
// plans differ in more. After an error the lab is of no use.
func (l *Lab) Exchange(ctx context.Context, to *plan.Plan, progress func(string)) (bool, error) {
	if l.held == nil {
		return false, nil
	}
	to = change.KeepNames(l.Plan(), to)
	changes := change.Compare(l.Plan(), to)
	if !changes.OfPrograms() {
		return false, nil
	}
	l.stopWatching() // it reads the plan, and would find nodes without their services
	j, free, err := l.lockNodes()
	if err != nil {
		return false, err
	}
	err = func() error {
		programs, err := findPrograms(to)
		if err != nil {
			return err
		}
		b := &builder{Lab: l, journal: j, programs: programs, progress: progress, measured: true, again: true}
		return b.exchange(ctx, to, changes)
	}()
	if err := errors.Join(state.Explain(err), free()); err != nil {
		return true, err
	}
	return true, l.watchAgain(ctx, progress)
}

func (b *builder) exchange(ctx context.Context, to *plan.Plan, changes change.Changes) error {
	fresh, services := change.Set(changes.FreshNodes), change.Set(changes.RestartedServices)
	nodes := slices.DeleteFunc(slices.Clone(to.Nodes), func(n plan.Node) bool { return !fresh[n.Name] })
	if err := b.checkAgain(nodes, true); err != nil {
		return err
	}
	service.Stop(ctx, b.journal, func(name string) bool { return services[name] })
	if err := b.journal.Undo(ctx, b.progress, service.Steps(services)); err != nil {
		return err
	}
	if err := b.end(ctx, nodes, RestartOptions{Fresh: true}); err != nil {
		return err
	}
	b.Follow(to)
	if err := b.State().WritePlan(to); err != nil {
		return err
	}
	if len(nodes) > 0 {
		if err := b.begin(ctx, nodes); err != nil {
			return err
		}
	}
	return b.startServices(ctx, work{services: to.Nodes})
}
