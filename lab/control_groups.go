package lab

import (
	"context"

	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/spec"
)

// groups are where the lab's control groups are made.
func (b *builder) groups() *isolate.Lab {
	return &isolate.Lab{Journal: b.journal, Plan: b.Plan(), StateDir: b.State().Dir}
}

// settleGroups completes the lab's isolation for the nodes that have started, and saves what is in force.
func (b *builder) settleGroups(ctx context.Context, groups *isolate.Lab) error {
	pids := map[string]int{}
	for _, n := range b.Plan().Nodes {
		if r := b.Running(n.Name); r != nil && r.PID != 0 {
			pids[n.Name] = b.PID(n.Name)
		}
	}
	if err := groups.Settle(ctx, pids); err != nil {
		return err
	}
	return b.writeIsolation(groups)
}

// writeIsolation adds the new isolation state to the saved one.
func (b *builder) writeIsolation(groups *isolate.Lab) error {
	before, err := b.Isolation()
	if err != nil {
		return err
	}
	now, err := groups.State()
	if err != nil {
		return err
	}
	return state.WriteJSON(b.State().Isolation(), now.After(before))
}

// steer moves the interrupts of the nodes' own devices near their nodes. New links may bring new
// interrupts, so it runs whenever links are made.
func (b *builder) steer(ctx context.Context, w work) error {
	if len(w.links) == 0 || b.Plan().Isolation != spec.IsolationIsolated {
		return nil
	}
	groups := b.groups()
	if err := groups.Steer(ctx); err != nil {
		return err
	}
	return b.writeIsolation(groups)
}
