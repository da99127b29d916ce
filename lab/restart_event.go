package lab

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/fault"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// PlannedRestart restarts a node in the course of a trial, as the experiment's events ask for. Its
// methods are called one at a time.
type PlannedRestart struct {
	lab   *Lab
	ctx   context.Context // of the trial
	node  string
	endNs int64
}

// PrepareRestart does nothing yet: a restart journals its own steps.
func (l *Lab) PrepareRestart(ctx context.Context, name string) *PlannedRestart {
	return &PlannedRestart{lab: l, ctx: ctx, node: name}
}

// Down ends what runs in the node and starts it again; it returns when that began, in nanoseconds of
// CLOCK_MONOTONIC. A node that someone has stopped stays so.
func (r *PlannedRestart) Down() (atNs int64, err error) {
	const kind = "restart"
	fault.Point("event begins", kind)
	defer fault.Point("event ends", kind)
	begun, err := monotonicNs()
	if err != nil {
		return 0, err
	}
	runs := func(_ plan.Node, now *node.Running) bool { return !now.Stopped }
	err = r.lab.Restart(r.ctx, []string{r.node}, RestartOptions{Planned: true, only: runs})
	if errors.Is(err, errOvertaken) {
		err = fmt.Errorf("node %s is stopped, and an event restarts only a node that runs; nines start %[1]s --during-measurement starts it", r.node)
	}
	if err != nil {
		return 0, err
	}
	r.endNs, err = monotonicNs()
	return begun, err
}

// Up returns when the node had started again.
func (r *PlannedRestart) Up() (atNs int64, err error) { return r.endNs, nil }

// Close has nothing to end: half of a restart is the journal's, as that of any other.
func (*PlannedRestart) Close(context.Context) error { return nil }
