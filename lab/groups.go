package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
)

// groups are where the lab's control groups are made.
func (b *builder) groups() *isolate.Lab {
	return &isolate.Lab{Journal: b.journal, Plan: b.plan, StateDir: b.state.dir}
}

// settleGroups completes the lab's isolation when nodes have started, and writes down
// what is in force.
func (b *builder) settleGroups(ctx context.Context, groups *isolate.Lab, started int) error {
	if started == 0 {
		return nil
	}
	pids := map[string]int{}
	for _, n := range b.plan.Nodes {
		pids[n.Name] = b.PID(n.Name)
	}
	if err := groups.Settle(ctx, pids); err != nil {
		return err
	}
	return b.writeIsolation(groups)
}

// writeIsolation adds what was done now to what was before.
func (b *builder) writeIsolation(groups *isolate.Lab) error {
	before, err := b.Isolation()
	if err != nil {
		return err
	}
	return writeJSON(b.state.isolation(), groups.State().After(before))
}

// steer sends the interrupts of the nodes' own devices beside their nodes. They may come
// anew with a link, so it is done whenever there are some.
func (b *builder) steer(ctx context.Context, w work) error {
	if len(w.links) == 0 || b.plan.Isolation != spec.IsolationIsolated {
		return nil
	}
	groups := b.groups()
	if err := groups.Steer(ctx); err != nil {
		return err
	}
	return b.writeIsolation(groups)
}

// Isolation is what isolation was in force when the lab came up.
func (l *Lab) Isolation() (isolate.State, error) {
	var s isolate.State
	text, err := os.ReadFile(l.state.isolation())
	if errors.Is(err, fs.ErrNotExist) {
		return isolate.Look(l.plan), nil // a lab without nodes, or of another nines
	}
	if err != nil {
		return s, fmt.Errorf("read the lab's isolation: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", l.state.isolation(), err)
	}
	return s, nil
}
