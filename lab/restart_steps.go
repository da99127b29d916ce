package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/plan"
)

// checkAgain checks, before anything is ended, that the host can start these nodes again. What others
// need is no concern of theirs, nor of a node that is only stopped. One that starts afresh needs what a
// new one does.
func (b *builder) checkAgain(nodes []plan.Node, fresh bool) error {
	if err := isolate.Check(b.Plan()); err != nil {
		return err
	}
	for _, n := range nodes {
		runs := b.Lab.Place(b.programs.init).CheckAgain
		if fresh || b.Running(n.Name).Fresh {
			runs = node.RuntimeOf(n).Check
		}
		if err := checkNode(n, runs); err != nil {
			return err
		}
	}
	return nil
}

// end ends what runs in nodes, and marks them as unfinished.
func (b *builder) end(ctx context.Context, nodes []plan.Node, options RestartOptions) error {
	if !options.Kill {
		service.Stop(ctx, b.journal, func(name string) bool {
			return slices.ContainsFunc(nodes, func(n plan.Node) bool { return strings.HasPrefix(name, n.Name+":") })
		})
		halt := b.place().Halt
		if options.ShutDown {
			halt = b.place().ShutDown
		}
		if err := haltAll(ctx, b.Lab.Lab, nodes, halt); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil { // nothing was ended yet
			return err
		}
	}
	return b.undoPayload(ctx, nodes, options.Fresh)
}

// undoPayload ends what runs in nodes, and marks them as unfinished: also what an end or a start left
// that was cut off. Those that are to start afresh are marked before their files change.
func (b *builder) undoPayload(ctx context.Context, nodes []plan.Node, fresh bool) error {
	var names []string
	marks := map[string]node.Marks{}
	for _, n := range nodes {
		old := b.Running(n.Name)
		names = append(names, n.Name)
		marks[n.Name] = node.Marks{Stopped: old.Stopped, Unfinished: true, Fresh: old.Fresh || fresh}
	}
	if err := b.mark(marks); err != nil {
		return err
	}
	for _, name := range names {
		b.SetRunning(&node.Running{Name: name, Network: b.Running(name).Network, Marks: marks[name]})
	}
	// Undo must also run after ctx is cancelled: half of a node is no use to anyone.
	ended, disturbed := change.Set(names), b.disturbed(names)
	err := slow(b.progress, "ending what runs in "+strings.Join(names, ", "), func() error {
		return b.journal.Undo(journal.WithProgress(context.WithoutCancel(ctx), b.progress), b.progress, func(e journal.Entry) bool {
			return ended[e.Node] && node.OfPayload(e, e.Node) || disturb.IsStep(e) && disturbed
		})
	})
	if err != nil {
		return fmt.Errorf("end what runs in %s: %w; nines restart tries again", strings.Join(names, ", "), err)
	}
	return nil
}

// disturbed is true if a disturbance is of one of the nodes: it knows its engine's process.
func (b *builder) disturbed(names []string) bool {
	return slices.ContainsFunc(b.Plan().Disturbances, func(d plan.Disturbance) bool { return slices.Contains(names, d.Node) })
}

// begin starts nodes, whose payloads were undone, in the networks that wait for them. If it fails it ends
// them again.
func (b *builder) begin(ctx context.Context, nodes []plan.Node) error {
	w := work{nodes: nodes, again: map[string]bool{}, fresh: map[string]bool{}, received: map[string]bool{}}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
		w.again[n.Name], w.fresh[n.Name] = true, b.Running(n.Name).Fresh
	}
	for _, name := range change.ReceivedAgain(b.Plan(), names) {
		w.received[name] = true
	}
	err := b.journal.Undo(ctx, b.progress, func(e journal.Entry) bool { return w.received[e.Node] && receive.IsStep(e, e.Node) })
	if err == nil {
		err = b.make(ctx, w)
	}
	if err != nil {
		b.progress("stopping what was started")
		err = fmt.Errorf("start %s: %w; nines start tries again", strings.Join(names, ", "), err)
		if back := b.undoPayload(ctx, nodes, false); back != nil {
			return errors.Join(err, back)
		}
		ended := map[string]node.Marks{}
		for _, n := range nodes {
			marks := b.Running(n.Name).Marks
			marks.Unfinished = false
			ended[n.Name] = marks
		}
		return errors.Join(err, b.mark(ended))
	}
	if err := b.unmark(names); err != nil || b.measured {
		return err // what measures looks before each trial
	}
	_, err = b.TakeRedirects()
	return err
}

// unmark takes all marks from nodes, which run.
func (b *builder) unmark(names []string) error {
	marks := map[string]node.Marks{}
	for _, name := range names {
		marks[name] = node.Marks{}
	}
	return b.mark(marks)
}

// mark gives nodes these marks and no others, in the journal and in memory.
func (b *builder) mark(marks map[string]node.Marks) error {
	if err := node.Mark(b.journal, marks); err != nil {
		return err
	}
	for name := range marks {
		now := *b.Running(name)
		now.Marks = marks[name]
		b.SetRunning(&now)
	}
	return nil
}
