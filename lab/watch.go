package lab

import (
	"context"
	"errors"
	"os"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/plan"
)

// Watch watches a lab until ctx ends or the lab is gone, and starts its nodes again by their policies; say
// receives a line for each thing that it does.
func Watch(ctx context.Context, name string, say func(string)) error {
	return watch.Run(ctx, name, watch.Options{Say: say, Restart: func(ctx context.Context, nodeName, why string, wanted func(plan.Node, *node.Running) bool) (bool, error) {
		l, err := Open(name) // as it is now
		if err != nil {
			return false, nil
		}
		return l.restartByPolicy(ctx, nodeName, RestartOptions{Why: why, Progress: say, only: wanted})
	}})
}

// restartByPolicy starts a node again, at once. It returns false while others change the lab, or if they have
// changed the node.
func (l *Lab) restartByPolicy(ctx context.Context, nodeName string, options RestartOptions) (bool, error) {
	options.Kill = true
	err := l.Restart(ctx, []string{nodeName}, options)
	if errors.As(err, new(*state.BusyError)) || errors.Is(err, errOvertaken) {
		return false, nil
	}
	return true, err
}

// beginWatching watches the nodes of a lab that this process measures, and returns when they are
// healthy. If they do not get healthy it takes the lab down.
func (l *Lab) beginWatching(ctx context.Context, progress func(string)) error {
	err := l.watchNodes(ctx, progress)
	if err != nil {
		err = errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return err
}

// watchNodes is beginWatching for a lab that stays in any case.
func (l *Lab) watchNodes(ctx context.Context, progress func(string)) error {
	if !l.Plan().Watched() {
		return nil
	}
	l.watching = watch.Begin(l.Lab, watch.Options{
		Say: progress, NoteHealth: l.restarts.noteHealth,
		Restart: func(ctx context.Context, nodeName, why string, wanted func(plan.Node, *node.Running) bool) (bool, error) {
			return l.restartByPolicy(ctx, nodeName, RestartOptions{Why: why, Progress: progress, only: wanted})
		},
	})
	return watch.AwaitHealthy(ctx, l.Name(), watch.Patience(l.Plan()), progress)
}

// watchAgain watches the nodes after others were put into them, of which no check has said anything.
func (l *Lab) watchAgain(ctx context.Context, progress func(string)) error {
	if err := state.AbsentIsFine(os.Remove(l.State().Health())); err != nil {
		return err
	}
	return l.watchNodes(ctx, progress)
}

// stopWatching returns when this process watches no node.
func (l *Lab) stopWatching() {
	l.watching.Stop()
	l.watching = nil
}
