package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// watcherStep is the Name of the watcher's step in the journal; it is of no node.
const watcherStep = "nines watch"

func ofWatcher(e journal.Entry) bool {
	return e.Kind == process.Kind && e.Name == watcherStep && e.Node == "" && e.Link == ""
}

// startWatcher starts the process that watches the lab's nodes, if some are watched and none runs, and
// ends one that has nothing to do. A lab that is measured is watched by the process that measures it,
// which holds the lab's lock.
func (b *builder) startWatcher(ctx context.Context, _ work) error {
	if b.measured {
		return nil
	}
	running := attendant(b.journal, ofWatcher)
	if b.Plan().Watched() && running.PID != 0 && running.Alive() {
		return nil
	}
	if err := b.journal.Undo(ctx, b.progress, ofWatcher); err != nil || !b.Plan().Watched() {
		return errors.Join(err, os.RemoveAll(b.State().Health()))
	}
	token := b.journal.Token("watch")
	return process.Make(b.journal, journal.Step{Name: watcherStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.OpenFile(b.State().WatcherLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		return node.Spawn(exec.Command(b.programs.nines, "watch", b.Name()), token, log)
	})
}

// watcherPart is what check and faults call the watcher.
const watcherPart = "watcher"

// deadWatcher says if the process that watches the lab's nodes has ended.
func (l *Lab) deadWatcher() ([]check.Fault, error) {
	if !l.Plan().Watched() || readOwner(l.State().Measured()).PID != 0 {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	id := attendant(j, ofWatcher)
	if id.PID != 0 && id.Alive() {
		return nil, nil
	}
	problem := fmt.Sprintf("the lab's watcher has exited (process %d): the health of its nodes is unknown, and their restart policies do not work", id.PID)
	if said := node.LastLines(l.State().WatcherLog()); said != "" {
		problem += "; its last output was: " + said
	}
	return []check.Fault{{Of: watcherPart, Part: watcherPart, Problem: problem, Remedy: check.WatchAgain, Target: l.Name()}}, nil
}

// watcherEnded is an error if the nodes' health will no longer change.
func (l *Lab) watcherEnded() error {
	faults, err := l.deadWatcher()
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}

// watching is a watcher in this process.
type watching struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// watchHere watches the lab's nodes in this process, until stopWatching.
func (l *Lab) watchHere(say func(string)) {
	if !l.Plan().Watched() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.watching = &watching{cancel, make(chan struct{})}
	go func() {
		defer close(l.watching.done)
		if err := newWatcher(l, false, say).run(ctx); err != nil && ctx.Err() == nil {
			say(fmt.Sprintf("health checks and restart policies have stopped: %v", err))
		}
	}()
}

// stopWatching returns when nothing watches in this process.
func (l *Lab) stopWatching() {
	if l.watching == nil {
		return
	}
	l.watching.cancel()
	<-l.watching.done
	l.watching = nil
}

// HealthPatience is how long the nodes of a plan may take at most until their checks have a verdict.
func HealthPatience(p *plan.Plan) time.Duration {
	longest := time.Duration(0)
	for _, n := range p.Nodes {
		if n.Healthcheck != nil {
			longest = max(longest, health.Patience(*n.Healthcheck, node.KillDelay+watchEvery))
		}
	}
	return longest
}

// AwaitHealthy returns when all nodes with checks are healthy, but for those that someone has
// stopped. It gives up after limit, and when the checks have ended for good; the error says what each
// unhealthy node's last check said. progress receives the nodes that it waits for, whenever they
// change.
func (l *Lab) AwaitHealthy(ctx context.Context, limit time.Duration, progress func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave up after %v", limit))
	defer cancel()
	told := ""
	for {
		now, err := Open(l.Name()) // as another process may start nodes again
		if err != nil {
			return err
		}
		waiting, err := now.unhealthy()
		if err != nil || len(waiting) == 0 {
			return err
		}
		if err := now.watcherEnded(); err != nil {
			return err
		}
		if names := strings.Join(waiting, "; "); names != told {
			told = names
			progress("waiting until all nodes are healthy: " + names)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not all nodes are healthy: %s; %w", strings.Join(waiting, "; "), context.Cause(ctx))
		case <-time.After(watchEvery):
		}
	}
}

// unhealthy are the nodes that are not healthy, with the reason.
func (l *Lab) unhealthy() ([]string, error) {
	list, err := l.Health()
	var waiting []string
	for _, h := range list {
		if h.Health == nil || l.Stopped(h.Node) || h.Status == health.Healthy && l.Alive(h.Node) {
			continue
		}
		text := fmt.Sprintf("%s is %s", h.Node, h.Status)
		if !l.Alive(h.Node) {
			text = h.Node + " is dead"
		}
		if h.Said != "" {
			text += " (" + h.Said + ")"
		}
		if h.Failed != "" {
			text += " (it could not be started again: " + h.Failed + ")"
		}
		waiting = append(waiting, text)
	}
	return waiting, err
}

// beginWatching watches the nodes of a lab that this process measures, and returns when they are
// healthy. If they do not get healthy it takes the lab down.
func (l *Lab) beginWatching(ctx context.Context, progress func(string)) error {
	if !l.Plan().Watched() {
		return nil
	}
	l.watchHere(progress)
	err := l.AwaitHealthy(ctx, HealthPatience(l.Plan()), progress)
	if err != nil {
		err = errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return err
}
