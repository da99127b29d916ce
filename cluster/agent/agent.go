package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Agent measures one node.
type Agent struct {
	// Node is the node's name.
	Node    string
	Tiers   []measure.Tier
	Load    measure.Load
	Budget  measure.Budget
	Runner  Trials
	Metrics *Metrics
	Kube    kubernetes.Interface
	Objects *client.Client
	// Discovery tells what the node has; nil for an agent that only measures.
	Discovery *Discovery
	// Interval is the time between two rounds. A figure is good for three of them.
	Interval time.Duration
	// Idle is the part of the CPUs' time that must be free for a trial, from 0 to 1.
	Idle float64
	// Slot is the node's, which trials of other nodes' agents take, too.
	Slot *measure.Slot
	// Given are the cards of whose virtual functions pods are given some; nil for none.
	Given func() ([]string, error)
	// Between measures the ways to other nodes; nil for none.
	Between *Between
	// Evictor moves pods whose wish is broken; nil to tell of them only.
	Evictor *Evictor

	// Account is what was taken of the budget. It is used by who has the slot.
	Account measure.Account

	window measure.Window
	// asked is when each other node was asked last.
	asked map[string]time.Time
	// resumed is true once what an agent before this one has published is known.
	resumed bool
	// warned are the pods that have had an event.
	warned map[types.UID]bool
	// confirmed are those of them whose way was measured again before it was said.
	confirmed map[types.UID]bool
}

// Trials measure a tier within the node, one at a time; measure.Runner does.
type Trials interface {
	Run(context.Context, measure.Tier, measure.Load) (measure.Trial, error)
}

// windowLength is how far back trials count for a figure.
const windowLength = time.Hour

// validIntervals is for how many intervals a figure is good.
const validIntervals = 3

// quietAgain is when a node that was too busy is looked at again: quiet windows may be short.
const quietAgain = 30 * time.Second

// Run measures until ctx ends. What goes wrong in a round is logged and counted, and tried again
// in the next.
func (a *Agent) Run(ctx context.Context) error {
	if a.Discovery != nil {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.Discovery.Run(ctx)
		}()
		defer func() { <-ended }()
	}
	a.window = measure.Window{Length: max(windowLength, a.Interval), Valid: validIntervals * a.Interval}
	a.asked = map[string]time.Time{}
	pause := a.first(ctx, time.Now())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		busy, err := a.round(ctx)
		if err != nil && ctx.Err() == nil {
			a.Metrics.failures.Inc()
			slog.Error("round", "error", err)
		}
		pause = a.Interval
		if busy {
			pause = min(pause, quietAgain)
		}
	}
}

// first is how long to wait for the first round: until an interval has passed since the last one
// of an agent before this. A time in the future is that of a clock that was set back.
func (a *Agent) first(ctx context.Context, now time.Time) time.Duration {
	last, err := a.resume(ctx, now)
	if err != nil {
		slog.Warn("go on with what was published before", "error", err) // tell tries it again
		return 0
	}
	return min(max(last.Add(a.Interval).Sub(now), 0), a.Interval)
}

// resume goes on with what an agent before this one has published, once, and tells when it has measured last.
func (a *Agent) resume(ctx context.Context, now time.Time) (last time.Time, err error) {
	object, err := a.Objects.Get(ctx, a.Node)
	switch {
	case apierrors.IsNotFound(err):
		a.resumed = true
		return last, nil
	case err != nil:
		return last, fmt.Errorf("read the figures of node %s: %w", a.Node, err)
	}
	var own []v1alpha1.Figure
	for _, f := range object.Figures {
		if f.Peer != "" && f.MeasuredAt.After(a.asked[f.Peer]) {
			a.asked[f.Peer] = f.MeasuredAt.Time
		}
		if f.MeasuredAt.After(last) {
			last = f.MeasuredAt.Time
		}
		if a.measures(f) {
			own = append(own, f)
		}
	}
	a.resumed = true
	if err := a.window.Resume(own, a.Load, now); err != nil {
		slog.Warn("not gone on with", "error", err) // it is measured anew
	}
	return last, nil
}

// measures is true for a figure of a way that the agent itself measures: others may have published the rest.
func (a *Agent) measures(f v1alpha1.Figure) bool {
	if f.Peer != "" {
		return a.Between != nil && (f.Tier == measure.NodeNetwork || port.Spans(spec.LinkKind(f.Tier)))
	}
	return slices.ContainsFunc(a.Tiers, func(t measure.Tier) bool { return t.Name() == f.Tier })
}

// round measures each tier once, and the ways to some other nodes, if the node is quiet, and publishes
// what is known then. It tells whether the node was too busy for some.
func (a *Agent) round(ctx context.Context) (busy bool, err error) {
	inv, err := host.Read()
	if err != nil {
		return false, err
	}
	offered, missing := a.offered(inv)
	for tier, why := range missing {
		slog.Info("not measured", "tier", tier, "reason", why)
	}
	for _, tier := range offered {
		_, why, err := a.within(ctx, tier)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			slog.Error("measure", "error", err)
		}
		busy = busy || why != nil && why.kind == "busy"
	}
	return busy, errors.Join(a.between(ctx), a.tell(ctx, inv, offered))
}

// offered are the tiers that the node has, and why it has not the others. While nobody can say which cards
// are for pods, none is measured.
func (a *Agent) offered(inv *host.Inventory) ([]measure.Tier, map[string]string) {
	var given []string
	if a.Given != nil {
		var err error
		if given, err = a.Given(); err != nil {
			slog.Error("which functions of cards pods get", "error", err)
			for i := range inv.Functions {
				given = append(given, inv.Functions[i].Interface)
			}
		}
	}
	return measure.Offered(inv, a.Tiers, given)
}

// within measures a tier within the node, if the node is quiet, and says why if it is not. It is true
// if the trial counts.
func (a *Agent) within(ctx context.Context, tier measure.Tier) (bool, *obstacle, error) {
	if err := a.Slot.Take(ctx); err != nil {
		return false, nil, err
	}
	defer a.Slot.Give()
	var trial measure.Trial
	why, err := a.quietly(ctx,
		func() error { return a.Account.Take(time.Now(), a.Budget, tier, a.Load) },
		func(ctx context.Context) (err error) {
			trial, err = a.Runner.Run(ctx, tier, a.Load)
			return err
		})
	switch {
	case ctx.Err() != nil:
		return false, nil, ctx.Err()
	case why != nil:
		a.Metrics.skipped.WithLabelValues(tier.Name(), why.kind).Inc()
		slog.Info("not measured now", "tier", tier.Name(), "reason", why.text)
		return false, why, nil
	case err != nil:
		a.Metrics.trials.WithLabelValues(tier.Name(), "failed").Inc()
		return false, nil, err
	}
	a.Metrics.trials.WithLabelValues(tier.Name(), string(trial.Verdict)).Inc()
	a.window.Add(trial)
	return trial.Verdict != result.Invalid, nil, nil
}

// tell tells the cluster what is known now.
func (a *Agent) tell(ctx context.Context, inv *host.Inventory, offered []measure.Tier) error {
	// What is published takes the place of what was before, which must not be lost.
	if !a.resumed {
		if _, err := a.resume(ctx, time.Now()); err != nil {
			return err
		}
	}
	node, err := a.Kube.CoreV1().Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", a.Node, err)
	}
	view, err := a.look(ctx, node)
	if err != nil {
		return err
	}
	view, acquitted, err := a.confirm(ctx, view, offered)
	if err != nil {
		return err
	}
	figures, err := a.window.Figures(time.Now())
	if err != nil {
		return err
	}
	a.Metrics.show(view.Figures, a.spent(ctx))
	if err := a.publish(ctx, node, figures); err != nil {
		return err
	}
	if err := a.label(ctx, node, Labels(inv, a.Discovery.Switch(), a.shown(node, offered, figures))); err != nil {
		return err
	}
	return a.judge(ctx, view, acquitted)
}

// spent is what was taken of the budget. It waits for who has the slot.
func (a *Agent) spent(ctx context.Context) measure.Budget {
	if err := a.Slot.Take(ctx); err != nil {
		return measure.Budget{}
	}
	defer a.Slot.Give()
	return a.Account.Spent(time.Now())
}
