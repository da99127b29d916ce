package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/host"
)

// Agent measures one node.
type Agent struct {
	// Node is the node's name.
	Node    string
	Tiers   []measure.Tier
	Load    measure.Load
	Budget  measure.Budget
	Runner  measure.Runner
	Metrics *Metrics
	Kube    kubernetes.Interface
	Objects *client.Client
	// Discovery tells what the node has; nil for an agent that only measures.
	Discovery *Discovery
	// Interval is the time between two rounds. A figure is good for three of them.
	Interval time.Duration
	// Idle is the part of the CPUs' time that must be free for a trial, from 0 to 1.
	Idle float64

	window  measure.Window
	account measure.Account
	// warned are the pods that have had an event.
	warned map[types.UID]bool
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
	object, err := a.Objects.Get(ctx, a.Node)
	if err != nil {
		return 0
	}
	var last time.Time
	for _, f := range object.Figures {
		if f.MeasuredAt.After(last) {
			last = f.MeasuredAt.Time
		}
	}
	return min(max(last.Add(a.Interval).Sub(now), 0), a.Interval)
}

// round measures each tier once, if the node is quiet, and publishes what is known then. It tells
// whether the node was too busy for some.
func (a *Agent) round(ctx context.Context) (busy bool, err error) {
	inv, err := host.Read()
	if err != nil {
		return false, err
	}
	offered, missing := measure.Offered(inv, a.Tiers)
	for tier, why := range missing {
		slog.Info("not measured", "tier", tier, "reason", why)
	}
	for _, tier := range offered {
		if why := a.unfit(ctx, tier); why != nil {
			a.Metrics.skipped.WithLabelValues(tier.Name(), why.kind).Inc()
			busy = busy || why.kind == "busy"
			slog.Info("not measured now", "tier", tier.Name(), "reason", why.text)
			continue
		}
		trial, err := a.Runner.Run(ctx, tier, a.Load)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			a.Metrics.trials.WithLabelValues(tier.Name(), "failed").Inc()
			slog.Error("measure", "error", err)
			continue
		}
		a.Metrics.trials.WithLabelValues(tier.Name(), string(trial.Verdict)).Inc()
		a.window.Add(trial)
	}
	now := time.Now()
	figures, err := a.window.Figures(now)
	if err != nil {
		return busy, err
	}
	a.Metrics.show(figures, a.account.Spent(now))
	node, err := a.Kube.CoreV1().Nodes().Get(ctx, a.Node, metav1.GetOptions{})
	if err != nil {
		return busy, fmt.Errorf("read node %s: %w", a.Node, err)
	}
	if err := a.publish(ctx, node, figures); err != nil {
		return busy, err
	}
	if err := a.label(ctx, node, Labels(inv, a.Discovery.Switch(), offered)); err != nil {
		return busy, err
	}
	return busy, a.judge(ctx, node, figures)
}

// obstacle is why a trial does not take place: a word for counting, and a sentence.
type obstacle struct{ kind, text string }

// unfit is what stands against a trial now; nil if nothing does. Its cost is then taken.
func (a *Agent) unfit(ctx context.Context, tier measure.Tier) *obstacle {
	pods, err := a.pods(ctx)
	if err != nil {
		// Without knowing who is there it might disturb somebody.
		return &obstacle{"unknown", err.Error()}
	}
	if p := measure.Disturbs(pods); p != nil {
		return &obstacle{"isolation", fmt.Sprintf("pod %s/%s asked to be alone", p.Namespace, p.Name)}
	}
	idle, err := measure.Idle(ctx, time.Second)
	if err != nil {
		return &obstacle{"unknown", err.Error()}
	}
	if busy := measure.Busy(idle, a.Idle); busy != "" {
		return &obstacle{"busy", busy}
	}
	if err := a.account.Take(time.Now(), a.Budget, tier, a.Load); err != nil {
		return &obstacle{"budget", err.Error()}
	}
	return nil
}

// pods are those on this node.
func (a *Agent) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := a.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.Node).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the node's pods: %w", err)
	}
	return list.Items, nil
}
