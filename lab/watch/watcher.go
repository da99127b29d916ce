package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// watchEvery is how often a watcher looks at its nodes. A look at one is a line of /proc.
const watchEvery = 100 * time.Millisecond

// watcher checks the health of a lab's nodes, and starts those again that have ended, by their
// policies.
//
//	every 100 ms, for each node:   look ─▸ begin a check that is due ─▸ start it again, if it is to be
//	a check ends:                  the node's health follows it
//
// All of it is one goroutine, besides the checks that run.
type watcher struct {
	lab   *running.Lab
	does  Options
	nodes map[string]*watchedNode
	// results are of checks that have ended.
	results chan checked
	// written is what the file says of the nodes' health.
	written map[string]NodeHealth
	// engines are the processes of the nodes' engines, read again when the journal has grown.
	engines map[string]proc.Identity
	seen    map[string]os.FileInfo
	// own is true for a watcher in a process of its own, which reads the lab again when it changes.
	own bool
	// failed is the last error of a look that was said, and failedAt when.
	failed   string
	failedAt time.Time
}

// checked is a check that has ended, of a node with a first process.
type checked struct {
	node    string
	main    proc.Identity
	outcome health.Outcome
}

// Options are what a watcher does with the lab, and whom it tells.
type Options struct {
	// Restart starts a node again, if it is as wanted says under the lab's lock. It returns false while others
	// change the lab, or if they have changed the node.
	Restart func(ctx context.Context, nodeName, why string, wanted func(plan.Node, *node.Running) bool) (done bool, err error)
	// NoteHealth is called for a node that becomes unhealthy, or is so no longer; may be nil.
	NoteHealth func(nodeName string, before, now health.Health)
	// Say receives a line for each thing that is done.
	Say func(string)
}

func newWatcher(l *running.Lab, own bool, options Options) *watcher {
	return &watcher{
		lab: l, own: own, does: options, nodes: map[string]*watchedNode{}, results: make(chan checked), seen: map[string]os.FileInfo{},
	}
}

// Run watches a lab until ctx ends or the lab is gone. It is the process that the journal of a lab
// has whose nodes are watched.
func Run(ctx context.Context, name string, options Options) error {
	l, err := running.Open(name)
	for said := false; err != nil && !errors.As(err, new(*state.NotFoundError)) && ctx.Err() == nil; l, err = running.Open(name) {
		if !said {
			options.Say("cannot read the lab just now, and tries again: " + err.Error())
			said = true
		}
		time.Sleep(watchEvery)
	}
	if err == nil {
		err = newWatcher(l, true, options).run(ctx)
	}
	if errors.As(err, new(*state.NotFoundError)) {
		return nil
	}
	return err
}

func (w *watcher) run(ctx context.Context) error {
	// The checks that still run end with ctx, and nobody waits for their results.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		for _, n := range w.nodes {
			n.forget()
		}
	}()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if err := w.look(ctx); err != nil {
			if w.gone(err) {
				return err
			}
			w.fails(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case r := <-w.results:
			w.take(r)
		}
	}
}

// gone is true for an error after which there is nothing to watch: the lab is gone, or being removed.
// Any other, such as too many open files, may be over at the next look.
func (w *watcher) gone(err error) bool {
	if errors.As(err, new(*state.NotFoundError)) {
		return true
	}
	_, there := os.Stat(w.lab.State().Journal())
	return errors.Is(there, fs.ErrNotExist)
}

// sayAgain is after how long an error is said again that was said already.
const sayAgain = time.Minute

// fails says the error of a look, and has the next look read all again.
func (w *watcher) fails(err error) {
	clear(w.seen)
	if text := err.Error(); text != w.failed || time.Since(w.failedAt) > sayAgain {
		w.failed, w.failedAt = text, time.Now()
		w.does.Say("cannot look at the lab just now, and tries again: " + text)
	}
}

// changed is true if a file of the lab is another than at the last call.
func (w *watcher) changed(path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return w.seen[path] != nil || errors.Is(err, fs.ErrNotExist) // gone: the lab is being removed
	}
	before := w.seen[path]
	w.seen[path] = now
	return before == nil || !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime())
}

// refresh reads what has changed of the lab.
func (w *watcher) refresh() error {
	s := w.lab.State()
	journalled, planned := w.changed(s.Journal()), w.changed(s.Plan())
	if !journalled && !planned {
		return nil
	}
	if w.own {
		now, err := running.Open(w.lab.Name())
		if err != nil {
			return err
		}
		w.lab = now
	}
	engines, err := w.lab.Engines()
	w.engines = engines
	return err
}

// look looks at each node once, and does what is due.
func (w *watcher) look(ctx context.Context) error {
	if err := w.refresh(); err != nil {
		return err
	}
	var finished bool
	for _, n := range w.lab.Plan().Nodes {
		r := w.lab.Running(n.Name)
		if !n.Watched() || r == nil {
			continue
		}
		if !finished {
			// A lab that is made or changed just now is not looked at.
			if finished = w.lab.Finished(); !finished {
				return nil
			}
		}
		watched := w.nodes[n.Name]
		if watched == nil {
			watched = &watchedNode{said: NodeHealth{Node: n.Name}}
			w.nodes[n.Name] = watched
		}
		now := time.Now()
		if r.Unfinished {
			continue // someone stops or starts it just now
		}
		watched.follow(n, r, now)
		seen := health.Seen{Alive: watched.ended.IsZero(), Stopped: r.Stopped}
		if !seen.Alive && !seen.Stopped {
			seen.Ended = watched.ending(w.lab.Place("").Ending(n))
		}
		if id, has := w.engines[n.Name]; has && !id.Alive() {
			seen.Broken = "its engine had died"
		}
		if h := watched.said.Health; h != nil {
			seen.Health = *h
		}
		if why := watched.reason(n, seen, now); why != "" {
			w.restart(ctx, watched, n.Name, why)
			continue
		}
		if seen.Alive && !seen.Stopped && n.Healthcheck != nil && !watched.checking && !now.Before(watched.next) {
			watched.checking = true
			l, main := w.lab, watched.main
			go func() {
				r := checked{n.Name, main, checkHealth(ctx, l, n)}
				select {
				case w.results <- r:
				case <-ctx.Done():
				}
			}()
		}
	}
	return w.write()
}

// take takes the result of a check, if the node is still the one that was checked.
func (w *watcher) take(r checked) {
	watched, n := w.nodes[r.node], w.lab.Index().Node(r.node)
	if watched == nil || watched.main != r.main {
		return
	}
	watched.checking = false
	if n == nil || n.Healthcheck == nil || watched.said.Health == nil || !watched.main.Alive() {
		return
	}
	before := *watched.said.Health
	h := watched.said.After(*n.Healthcheck, watched.started, r.outcome)
	watched.said.Health = &h
	watched.next = r.outcome.Ended.Add(time.Duration(n.Healthcheck.Interval))
	if h.Status != before.Status {
		if w.does.NoteHealth != nil {
			w.does.NoteHealth(n.Name, before, h)
		}
		text := fmt.Sprintf("node %s is %s", n.Name, h.Status)
		if h.Said != "" {
			text += ": " + h.Said
		}
		w.does.Say(text)
	}
}

// restart starts a node again. While others change the lab it waits.
func (w *watcher) restart(ctx context.Context, n *watchedNode, name, why string) {
	done, err := w.does.Restart(ctx, name, why, n.stillWanted)
	if !done || ctx.Err() != nil {
		return
	}
	now := time.Now()
	n.attempts, n.due = n.attempts.Made(now), time.Time{}
	if err != nil {
		n.said.Failed = err.Error()
		w.does.Say(fmt.Sprintf("node %s could not be started again: %v", name, err))
		return
	}
	n.said.Restarts++
	n.said.Last, n.said.Why, n.said.Failed = now, why, ""
	w.does.Say(fmt.Sprintf("node %s was started again, as %s", name, why))
}

// write writes what is known of the nodes' health, if it has changed.
func (w *watcher) write() error {
	now := map[string]NodeHealth{}
	for name, n := range w.nodes {
		now[name] = n.said
	}
	if maps.EqualFunc(now, w.written, NodeHealth.same) {
		return nil
	}
	// A full disk keeps nobody from watching; the next change tries again.
	if err := state.WriteJSON(w.lab.State().Health(), now); err != nil {
		if !replace.IsFull(err) {
			return err
		}
		return nil
	}
	w.written = maps.Clone(now)
	return nil
}

func (h NodeHealth) same(other NodeHealth) bool {
	if (h.Health == nil) != (other.Health == nil) || h.Health != nil && *h.Health != *other.Health {
		return false
	}
	h.Health, other.Health = nil, nil
	return h == other
}
