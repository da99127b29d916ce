package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/agent/peer"
	"nines.dev/nines/result"
)

// Between is how the ways to other nodes are measured.
type Between struct {
	Meter  peer.Meter
	Agents *peer.Directory
	// Probes makes ports of the networks of pods that span nodes; nil for none.
	Probes *peer.Probes
	// Most is how many nodes are asked in a round.
	Most int
}

const (
	// tries is how often a peer is asked that has no time, with a pause up to refusedPause before the
	// next: two agents that ask each other at the same time are then out of step.
	tries        = 3
	refusedPause = 5 * time.Second
	// mostValid is for how long a figure is good at most that is measured again after many rounds.
	mostValid = 24 * time.Hour
)

// between measures the ways to the next few nodes.
func (a *Agent) between(ctx context.Context) error {
	if a.Between == nil || a.Between.Most < 1 {
		return nil
	}
	agents, err := a.Between.Agents.Peers(ctx, a.Interval)
	if err != nil {
		return err
	}
	networks, err := a.Between.Probes.Networks(ctx)
	if err != nil {
		slog.Error("networks of pods", "error", err) // the nodes' own is measured all the same
	}
	order := peer.Order(a.Node, agents, a.asked)
	valid := validFor(len(order), a.Between.Most, a.Interval)
	for _, to := range order[:min(len(order), a.Between.Most)] {
		if ago := time.Since(a.asked[to.Node]); ago >= 0 && ago < a.Interval/2 {
			continue // this round makes up for one that came when the node was busy
		}
		// Whatever comes of it: one that does not answer must not keep the others from their turn.
		a.asked[to.Node] = time.Now()
		for _, over := range overs(networks) {
			if _, err := a.roundTrip(ctx, to, over, valid); err != nil {
				slog.Error("measure", "error", err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// overs are the ways to another node: over the nodes' own network, which is nil, and over those of pods.
func overs(networks []peer.Network) []*peer.Network {
	all := []*peer.Network{nil}
	for i := range networks {
		all = append(all, &networks[i])
	}
	return all
}

// tierOf is the tier of a way to another node.
func tierOf(over *peer.Network) string {
	if over == nil {
		return measure.NodeNetwork
	}
	return string(over.Tier)
}

// validFor is for how long a figure of one of so many nodes is good: three times the time until it
// is measured again, as every figure, and a day at most.
func validFor(nodes, most int, interval time.Duration) time.Duration {
	rounds := (nodes + most - 1) / most
	return min(validIntervals*interval*time.Duration(max(rounds, 1)), max(mostValid, validIntervals*interval))
}

// roundTrip measures the way to a node, if both are fit for it. It is true if the trial counts.
func (a *Agent) roundTrip(ctx context.Context, to peer.Peer, over *peer.Network, valid time.Duration) (bool, error) {
	tier := tierOf(over)
	for try := 1; ; try++ {
		trial, why, err := a.tryRoundTrip(ctx, to, over)
		var refused *peer.RefusedError
		var absent *peer.AbsentError
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case why != nil:
			a.Metrics.skipped.WithLabelValues(tier, why.kind).Inc()
			slog.Info("not measured now", "tier", tier, "to", to.Node, "reason", why.text)
			return false, nil
		case errors.As(err, &refused) && try < tries:
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(rand.Int64N(int64(refusedPause)))):
			}
			continue
		case refused != nil:
			a.Metrics.skipped.WithLabelValues(tier, "refused").Inc()
			slog.Info("not measured now", "tier", tier, "to", to.Node, "reason", refused.Error())
			return false, nil
		case errors.As(err, &absent):
			slog.Info("not measured", "tier", tier, "to", to.Node, "reason", absent.Error())
			return false, nil
		case err != nil:
			a.Metrics.trials.WithLabelValues(tier, "failed").Inc()
			return false, err
		}
		a.Metrics.trials.WithLabelValues(tier, string(trial.Verdict)).Inc()
		trial.Valid = valid
		a.window.Add(trial)
		return trial.Verdict != result.Invalid, nil
	}
}

func (a *Agent) tryRoundTrip(ctx context.Context, to peer.Peer, over *peer.Network) (measure.Trial, *obstacle, error) {
	if err := a.Slot.Take(ctx); err != nil {
		return measure.Trial{}, nil, err
	}
	defer a.Slot.Give()
	var trial measure.Trial
	why, err := a.quietly(ctx,
		func() error { return a.Account.TakeRoundTrip(time.Now(), a.Budget, to.Node, a.Load) },
		func(ctx context.Context) (err error) {
			trial, err = a.Between.Meter.Measure(ctx, to, over, a.Load)
			return err
		})
	if errors.As(err, new(*peer.RefusedError)) || errors.As(err, new(*peer.AbsentError)) {
		a.Account.GiveBack()
	}
	return trial, why, err
}

// FitFor is what stands against being measured by another node, which has the slot. If nothing does,
// its cost is taken, and the context ends with ctx, or when something comes that does.
func (a *Agent) FitFor(ctx context.Context, from string, load measure.Load) (context.Context, error) {
	quiet, why := a.quiet(ctx, func() error { return a.Account.TakeRoundTrip(time.Now(), a.Budget, from, load) })
	if why != nil {
		return nil, fmt.Errorf("node %s: %w", a.Node, why)
	}
	return quiet, nil
}
