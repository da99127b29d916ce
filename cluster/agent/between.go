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

// Between configures how the paths to other nodes are measured.
type Between struct {
	Meter  peer.Meter
	Agents *peer.Directory
	// Probes makes ports on the pod networks that span nodes; nil for none.
	Probes *peer.Probes
	// Most is how many nodes are measured in a round.
	Most int
}

const (
	// patience is how long the agent asks a peer again that measures, or is measured, itself; and surePatience, to
	// confirm a change of the path. The random pause of up to refusedPause in between gets two agents out of step
	// that ask each other at the same time.
	patience     = 15 * time.Second
	surePatience = time.Minute
	refusedPause = 3 * time.Second
	// mostValid is the maximum validity of a figure that is measured again only after many rounds.
	mostValid = 24 * time.Hour
)

// between measures the paths to the next few nodes. It returns true if it has tried one: an invalid trial
// changes what is known of a path, too.
func (a *Agent) between(ctx context.Context) (tried bool, err error) {
	if a.Between == nil || a.Between.Most < 1 {
		return false, nil
	}
	agents, err := a.Between.Agents.Peers(ctx, a.Interval)
	if err != nil {
		return false, err
	}
	networks, err := a.Between.Probes.Networks(ctx)
	if err != nil {
		slog.Error("cannot list the pod networks", "error", err) // the nodes' own network is measured anyway
	}
	order := peer.Order(a.Node, agents, a.asked)
	valid := validFor(len(order), a.Between.Most, a.Interval)
	for _, to := range order[:min(len(order), a.Between.Most)] {
		if ago := time.Since(a.asked[to.Node]); ago >= 0 && ago < a.Interval/2 {
			continue // this round replaces one that found the node busy
		}
		// Even if it fails: a node that does not answer must not delay the others.
		a.asked[to.Node] = time.Now()
		for _, over := range overs(networks) {
			if err := a.measured(ctx, measure.Way{Tier: tierOf(over), Peer: to.Node}, func(patience time.Duration) (bool, error) {
				return a.roundTrip(ctx, to, over, valid, patience)
			}); err != nil {
				slog.Error("trial failed", "error", err)
			}
			if ctx.Err() != nil {
				return tried, ctx.Err()
			}
			tried = true
		}
	}
	return tried, nil
}

// overs returns the paths to another node: over the nodes' own network, which is nil, and over the pod
// networks.
func overs(networks []peer.Network) []*peer.Network {
	all := []*peer.Network{nil}
	for i := range networks {
		all = append(all, &networks[i])
	}
	return all
}

// tierOf returns the tier of a path to another node.
func tierOf(over *peer.Network) string {
	if over == nil {
		return measure.NodeNetwork
	}
	return string(over.Tier)
}

// validFor returns how long a figure of one of this many nodes is valid: three times the time until it is
// measured again, as for every figure, and at most a day.
func validFor(nodes, most int, interval time.Duration) time.Duration {
	rounds := (nodes + most - 1) / most
	return min(validIntervals*interval*time.Duration(max(rounds, 1)), max(mostValid, validIntervals*interval))
}

// roundTrip measures the path to a node, if both ends can be measured now, or soon. It returns true if the trial
// counts.
func (a *Agent) roundTrip(ctx context.Context, to peer.Peer, over *peer.Network, valid, patience time.Duration) (bool, error) {
	tier := tierOf(over)
	for until := time.Now().Add(patience); ; {
		trial, why, err := a.tryRoundTrip(ctx, to, over)
		var refused *peer.RefusedError
		var absent *peer.AbsentError
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case why != nil:
			a.Metrics.skipped.WithLabelValues(tier, why.kind).Inc()
			slog.Info("trial skipped", "tier", tier, "to", to.Node, "reason", why.text)
			return false, nil
		case errors.As(err, &refused) && refused.Soon && time.Now().Before(until):
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(rand.Int64N(int64(refusedPause)))):
			}
			continue
		case refused != nil:
			a.Metrics.skipped.WithLabelValues(tier, "refused").Inc()
			slog.Info("trial skipped", "tier", tier, "to", to.Node, "reason", refused.Error())
			return false, nil
		case errors.As(err, &absent):
			slog.Info("path skipped", "tier", tier, "to", to.Node, "reason", absent.Error())
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
			busy := a.Watch(ctx, 0)
			if trial, err = a.Between.Meter.Measure(ctx, to, over, a.Load); busy() {
				trial.Disturb("the node")
			}
			return err
		})
	if errors.As(err, new(*peer.RefusedError)) || errors.As(err, new(*peer.AbsentError)) {
		a.Account.GiveBack()
	}
	return trial, why, err
}

// FitFor returns why another node, which has taken the slot, cannot measure this one now. If it can, FitFor
// charges the cost to the budget, and the returned context ends with ctx, or when an obstacle appears. settle is called
// when the trial has ended, before the slot is released.
func (a *Agent) FitFor(ctx context.Context, from string, load measure.Load) (fit context.Context, settle func(), err error) {
	quiet, settle, why := a.quiet(ctx, func() error { return a.Account.TakeRoundTrip(time.Now(), a.Budget, from, load) })
	if why != nil {
		return nil, nil, fmt.Errorf("node %s: %w", a.Node, why)
	}
	return quiet, settle, nil
}
