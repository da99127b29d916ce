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
	"nines.dev/nines/cluster/registration"
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
	// Discovery reports what the node has; nil for an agent that only measures.
	Discovery *Discovery
	// Registered is the node's object: what was published of the node is published again when it changes; nil if
	// nobody follows it.
	Registered *registration.Node
	// Interval is the time between two rounds. A figure is valid for three intervals.
	Interval time.Duration
	// Idle is the fraction of CPU time that must be idle for a trial, from 0 to 1.
	Idle float64
	// Slot is the node's slot, which is also taken by trials of agents on other nodes.
	Slot *measure.Slot
	// Given returns the cards whose virtual functions are given to pods; nil for none.
	Given func() ([]string, error)
	// Between measures the paths to other nodes; nil for none.
	Between *Between
	// Evictor moves pods whose latency request is not met; nil to only report them.
	Evictor *Evictor

	// Used returns the CPU time that the agent and all that it starts have used so far; nil if nothing counts it: then the
	// budget is charged with the most that a trial can use.
	Used func() (time.Duration, error)
	// Account is what trials have spent of the budget. Only the holder of the slot uses it.
	Account measure.Account

	window measure.Window
	// asked is when each other node was last measured.
	asked map[string]time.Time
	// resumed is true once the figures published by the previous agent have been read.
	resumed bool
	// warned are the pods that already got an event.
	warned map[types.UID]bool
	// confirmed are those of them whose path was measured again before the event.
	confirmed map[types.UID]bool
}

// Trials measures a tier within the node, one at a time; implemented by measure.Runner.
type Trials interface {
	Run(context.Context, measure.Tier, measure.Load) (measure.Trial, error)
}

// windowLength is how long trials count towards a figure.
const windowLength = time.Hour

// validIntervals is for how many intervals a figure is valid.
const validIntervals = 3

// quietAgain is when the agent checks a busy node again: quiet periods may be short.
const quietAgain = 30 * time.Second

// Run measures until ctx ends. It logs and counts errors of a round, and tries again in the next.
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
	registered, err := a.Registered.Changes()
	if err != nil {
		return err
	}
	next := time.Now().Add(a.first(ctx, time.Now()))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-registered:
			a.failed(ctx, a.tellAgain(ctx))
			continue
		case <-time.After(time.Until(next)):
		}
		busy, err := a.round(ctx)
		a.failed(ctx, err)
		pause := a.Interval
		if busy {
			pause = min(pause, quietAgain)
		}
		next = time.Now().Add(pause)
	}
}

// failed logs and counts an error that has kept figures from being published.
func (a *Agent) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		a.Metrics.failures.Inc()
		slog.Error("measuring round failed", "error", err)
	}
}

// tellAgain publishes for the node's new object what was published for the old one.
func (a *Agent) tellAgain(ctx context.Context) error {
	if a.Registered.UID() == "" {
		return nil // there is nothing that it could belong to
	}
	inv, err := host.Read()
	if err != nil {
		return err
	}
	offered, _ := a.offered(inv)
	return a.tell(ctx, inv, offered)
}

// first returns how long to wait for the first round: until an interval has passed since the previous agent's
// last one. A time in the future comes from a clock that was set back.
func (a *Agent) first(ctx context.Context, now time.Time) time.Duration {
	last, err := a.resume(ctx, now)
	if err != nil {
		slog.Warn("cannot resume the published figures", "error", err) // tell tries again
		return 0
	}
	return min(max(last.Add(a.Interval).Sub(now), 0), a.Interval)
}

// resume continues with the figures that the previous agent published, once, and returns when it last
// measured.
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
		slog.Warn("some published figures are not resumed", "error", err) // they are measured again
	}
	return last, nil
}

// measures reports whether the agent itself measures the path of a figure: other programs may have published
// the rest.
func (a *Agent) measures(f v1alpha1.Figure) bool {
	if f.Peer != "" {
		return a.Between != nil && (f.Tier == measure.NodeNetwork || port.Spans(spec.LinkKind(f.Tier)))
	}
	return slices.ContainsFunc(a.Tiers, func(t measure.Tier) bool { return t.Name() == f.Tier })
}

// round measures each tier once, and the paths to some other nodes, if the node is quiet, and publishes the
// figures of both as soon as it has them: nobody waits for those of the node until the paths are measured,
// which takes longer. It reports whether the node was too busy for some of the tiers.
func (a *Agent) round(ctx context.Context) (busy bool, err error) {
	inv, err := host.Read()
	if err != nil {
		return false, err
	}
	offered, missing := a.offered(inv)
	for tier, why := range missing {
		slog.Info("tier skipped", "tier", tier, "reason", why)
	}
	for _, tier := range offered {
		err := a.measured(ctx, measure.Way{Tier: tier.Name()}, func(time.Duration) (bool, error) {
			counts, why, err := a.within(ctx, tier)
			busy = busy || why != nil && why.kind == "busy"
			return counts, err
		})
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			slog.Error("trial failed", "error", err)
		}
	}
	told := a.tell(ctx, inv, offered)
	tried, err := a.between(ctx)
	if tried {
		told = errors.Join(told, a.tell(ctx, inv, offered))
	}
	return busy, errors.Join(told, err)
}

// offered returns the tiers that the node has, and for the others why it does not have them. While it is
// unknown which cards are for pods, none is measured.
func (a *Agent) offered(inv *host.Inventory) ([]measure.Tier, map[string]string) {
	var given []string
	if a.Given != nil {
		var err error
		if given, err = a.Given(); err != nil {
			slog.Error("cannot tell which cards' virtual functions are for pods", "error", err)
			for i := range inv.Functions {
				given = append(given, inv.Functions[i].Interface)
			}
		}
	}
	return measure.Offered(inv, a.Tiers, given)
}

// within measures a tier within the node if the node is quiet; otherwise it returns the reason. It returns
// true if the trial counts.
func (a *Agent) within(ctx context.Context, tier measure.Tier) (bool, *obstacle, error) {
	if err := a.Slot.Take(ctx); err != nil {
		return false, nil, err
	}
	defer a.Slot.Give()
	var trial measure.Trial
	why, err := a.quietly(ctx,
		func() error { return a.Account.Take(time.Now(), a.Budget, tier, a.Load) },
		func(ctx context.Context) (err error) {
			busy := a.Watch(ctx, tier.Spins())
			if trial, err = a.Runner.Run(ctx, tier, a.Load); busy() {
				trial.Disturb("the node")
			}
			return err
		})
	switch {
	case ctx.Err() != nil:
		return false, nil, ctx.Err()
	case why != nil:
		a.Metrics.skipped.WithLabelValues(tier.Name(), why.kind).Inc()
		slog.Info("trial skipped", "tier", tier.Name(), "reason", why.text)
		return false, why, nil
	case err != nil:
		a.Metrics.trials.WithLabelValues(tier.Name(), "failed").Inc()
		return false, nil, err
	}
	a.Metrics.trials.WithLabelValues(tier.Name(), string(trial.Verdict)).Inc()
	a.window.Add(trial)
	return trial.Verdict != result.Invalid, nil, nil
}

// tell reports the current state to the cluster.
func (a *Agent) tell(ctx context.Context, inv *host.Inventory, offered []measure.Tier) error {
	// Publishing replaces the previous figures, so read those first.
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

// spent returns what trials have spent of the budget. It waits for the slot.
func (a *Agent) spent(ctx context.Context) measure.Budget {
	if err := a.Slot.Take(ctx); err != nil {
		return measure.Budget{}
	}
	defer a.Slot.Give()
	return a.Account.Spent(time.Now())
}
