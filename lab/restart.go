package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// RestartOptions say how nodes are stopped and started.
type RestartOptions struct {
	// Why is the reason that a measurement gives for its invalid trial; empty: someone asked for it.
	Why string
	// Planned is a restart that the experiment's events ask for: it makes no trial invalid.
	Planned bool
	// Kill ends a node at once, as a power cut would. Otherwise what runs in it may end first, for at
	// most node.HaltPatience.
	Kill bool
	// Fresh recreates the nodes' files from their current images; otherwise containers keep theirs.
	// Restart only.
	Fresh bool
	// ShutDown asks what runs in a node to end by itself first, also where the node has no systemd.
	ShutDown bool
	// Progress receives a few words on each step that takes long; may be nil.
	Progress func(string)
	// only leaves out the nodes, as they are under the lab's lock, for which it is false; nil leaves
	// out none.
	only func(plan.Node, *node.Running) bool
}

// errOvertaken means that no node was left to change: others have changed them meanwhile.
var errOvertaken = errors.New("another process has changed the nodes")

// Restart ends what runs in nodes and starts it again. Their networks stay: devices, addresses and
// whatever listens to them. A node that is stopped or dead is started. It needs the lab's lock, or a
// lab that this process measures; any goroutine may call it.
func (l *Lab) Restart(ctx context.Context, names []string, options RestartOptions) error {
	return l.changeNodes(ctx, names, options, func(b *builder, nodes []plan.Node) error {
		if err := b.checkAgain(nodes, options.Fresh); err != nil {
			return err
		}
		b.keepTaps(nodes)
		defer b.taps.close()
		return l.noted(nodes, "restarted", options, func() error {
			if err := b.end(ctx, nodes, options); err != nil {
				return err
			}
			return b.begin(ctx, nodes)
		})
	})
}

// Stop ends what runs in nodes, until Start, and leaves their networks. It does nothing to nodes that
// are stopped.
func (l *Lab) Stop(ctx context.Context, names []string, options RestartOptions) error {
	return l.changeNodes(ctx, names, options, func(b *builder, nodes []plan.Node) error {
		return l.noted(nodes, wasStopped, options, func() error {
			if err := b.end(ctx, nodes, options); err != nil {
				return err
			}
			marks := map[string]node.Marks{}
			for _, n := range nodes {
				marks[n.Name] = node.Marks{Stopped: true, Fresh: b.Running(n.Name).Fresh}
			}
			return b.mark(marks)
		})
	})
}

// Start starts nodes that are stopped or dead, and does nothing to those that run.
func (l *Lab) Start(ctx context.Context, names []string, options RestartOptions) error {
	return l.changeNodes(ctx, names, options, func(b *builder, nodes []plan.Node) error {
		nodes = slices.DeleteFunc(nodes, func(n plan.Node) bool { return l.Alive(n.Name) && !l.Running(n.Name).Unfinished })
		if len(nodes) == 0 {
			return nil
		}
		if err := b.checkAgain(nodes, false); err != nil {
			return err
		}
		return l.noted(nodes, "started", options, func() error {
			if err := b.undoPayload(ctx, nodes, false); err != nil {
				return err
			}
			return b.begin(ctx, nodes)
		})
	})
}

// noted changes nodes and notes it for a measurement: all of them, or, where the change fails,
// those whose process is gone or is another than before. Nothing happened to the others.
func (l *Lab) noted(nodes []plan.Node, how string, options RestartOptions, change func() error) error {
	main := func(n plan.Node) proc.Identity {
		if !l.Alive(n.Name) {
			return proc.Identity{}
		}
		return l.Running(n.Name).Main(n)
	}
	begun, before := time.Now(), map[string]proc.Identity{}
	for _, n := range nodes {
		before[n.Name] = main(n)
	}
	err := change()
	if options.Planned {
		return err
	}
	if err != nil {
		nodes = slices.DeleteFunc(nodes, func(n plan.Node) bool { return main(n) == before[n.Name] })
	}
	l.restarts.note(nodes, how, begun, options.Why)
	return err
}

// changeNodes changes single nodes of a lab under its lock.
func (l *Lab) changeNodes(ctx context.Context, names []string, options RestartOptions, change func(*builder, []plan.Node) error) error {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	j, free, err := l.lockNodes()
	if err != nil {
		return err
	}
	err = func() error {
		nodes, err := l.restartable(names)
		if err != nil {
			return err
		}
		if options.only != nil {
			nodes = slices.DeleteFunc(nodes, func(n plan.Node) bool { return !options.only(n, l.Running(n.Name)) })
			if len(nodes) == 0 {
				return errOvertaken
			}
		}
		programs, err := findPrograms(l.Plan())
		if err != nil {
			return err
		}
		return change(&builder{Lab: l, journal: j, programs: programs, progress: options.Progress, measured: l.held != nil, again: true}, nodes)
	}()
	return errors.Join(state.Explain(err), free())
}

// lockNodes returns the lab's journal for changing its nodes: that of the measurement which holds the
// lab, or the one that it locks.
func (l *Lab) lockNodes() (*journal.Journal, func() error, error) {
	l.restarts.changing.Lock()
	unlock := func() error { l.restarts.changing.Unlock(); return nil }
	if l.held != nil {
		return l.held.journal, unlock, nil
	}
	h, err := hold(l.Name())
	if err != nil {
		return nil, nil, errors.Join(state.Explain(err), unlock())
	}
	free := func() error { return errors.Join(h.free(), unlock()) }
	// The lab under the lock may differ from when it was opened.
	now, err := Open(l.Name())
	switch {
	case err != nil:
		return nil, nil, errors.Join(err, free())
	case h.journal == nil:
		return nil, nil, errors.Join(state.NotFound(l.Name()), free())
	case !now.Finished():
		err := fmt.Errorf("lab %q was not finished; nines apply with its file rebuilds it, nines down %s removes it", l.Name(), l.Name())
		return nil, nil, errors.Join(err, free())
	}
	*l.Lab = *now.Lab
	return h.journal, free, nil
}

// restartable are the nodes with these names, each once, if their runtimes restart and their networks
// are there.
func (l *Lab) restartable(names []string) ([]plan.Node, error) {
	if l.FabricDead() {
		return nil, fmt.Errorf("the fabric of lab %q is dead, and its links with it; nines apply with the lab's file rebuilds the lab", l.Name())
	}
	var nodes []plan.Node
	for _, name := range names {
		n, r, err := l.Node(name)
		if err != nil {
			return nil, err
		}
		d := n.Runtime.Descriptor()
		switch {
		case !d.Restarts():
			why := d.Refusals["restart"]
			return nil, exit.Wrongf("node %q cannot be stopped or started: %s", name, strings.Join(slices.DeleteFunc([]string{why.Problem, why.Remedy}, func(s string) bool { return s == "" }), "; "))
		case r.Network.PID == 0 || !r.Network.InNamespaces():
			return nil, fmt.Errorf("node %q has no network: the process that held it has ended; nines apply with the lab's file rebuilds the node and its links", name)
		}
		if !slices.ContainsFunc(nodes, func(other plan.Node) bool { return other.Name == name }) {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// AwaitChanges returns when this process changes no node, or when ctx ends. A node that is half switched
// off looks like one that has died.
func (l *Lab) AwaitChanges(ctx context.Context) {
	free := await.Condition{What: "no node is changed", Every: changesEvery, Holds: func(context.Context) error {
		return await.Answer(l.restarts.changing.TryLock(), nil)
	}}
	if await.Until(ctx, free) == nil {
		l.restarts.changing.Unlock()
	}
}

// changesEvery is how often AwaitChanges looks.
const changesEvery = 10 * time.Millisecond

// TakeRestarts returns the nodes that this process has restarted, stopped or started, or has seen
// unhealthy, since the last call, those that are stopped still, and the services that their policies have started
// again: a trial beside which that happened did not measure what the file describes.
func (l *Lab) TakeRestarts() []Restarted {
	if l.restarts == nil {
		return nil
	}
	services, err := service.All(l.Lab)
	if err != nil { // Faults, which are asked for together with these, tell it
		services = nil
	}
	return l.restarts.take(services)
}
