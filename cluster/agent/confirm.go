package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/agent/peer"
)

// confirm measures again what seems to be broken, before it is said: one trial may have met something
// else on the node. It returns the view with what is known then, and the pods whose wish the new trial
// alone holds.
//
// A wish seems to be broken if all trials of the last while together say so, or the last one alone: a
// node that has just become slow shows in the median of an hour only after half of it. If the new
// trial alone says so as well, the node has changed, and what was measured before is forgotten.
func (a *Agent) confirm(ctx context.Context, v View, offered []measure.Tier) (View, map[types.UID]bool, error) {
	newest, err := a.window.Newest()
	if err != nil {
		return v, nil, err
	}
	lately := a.unsaid(Judge(v.With(newest)))
	suspects := a.unsaid(Judge(v))
	for _, b := range lately {
		if !has(suspects, b.Pod.UID) {
			suspects = append(suspects, b)
		}
	}
	if len(suspects) == 0 {
		return v, nil, nil
	}
	again := map[measure.Way]bool{}
	for _, b := range suspects {
		if _, tried := again[b.Way]; tried {
			continue
		}
		slog.Info("measured again", "pod", b.Pod.Namespace+"/"+b.Pod.Name, "reason", b.Reason)
		if again[b.Way], err = a.again(ctx, b.Way, offered); err != nil {
			slog.Error("measure", "error", err)
		}
		if ctx.Err() != nil {
			return v, nil, ctx.Err()
		}
	}
	// The last trial of a way that was measured again is the new one.
	if newest, err = a.window.Newest(); err != nil {
		return v, nil, err
	}
	v.Now = time.Now()
	alone := Judge(v.With(newest))
	acquitted := map[types.UID]bool{}
	for _, b := range suspects {
		switch {
		case !again[b.Way]:
			// Not confirmed, and the best that is known.
		case !has(alone, b.Pod.UID):
			acquitted[b.Pod.UID] = true
			slog.Info("holds when measured again", "pod", b.Pod.Namespace+"/"+b.Pod.Name)
		default:
			if a.confirmed == nil {
				a.confirmed = map[types.UID]bool{}
			}
			a.confirmed[b.Pod.UID] = true
			if has(lately, b.Pod.UID) && known(alone, b.Pod.UID) {
				a.window.Restart(b.Way)
			}
		}
	}
	v.Figures, err = a.figures(ctx, v.Now)
	return v, acquitted, err
}

// unsaid are those of the broken that a measurement speaks of, and that nobody was told of yet, or is to
// be evicted and was not measured again.
func (a *Agent) unsaid(broken []Broken) []Broken {
	return slices.DeleteFunc(broken, func(b Broken) bool {
		return !b.Known || a.warned[b.Pod.UID] && (a.Evictor == nil || a.confirmed[b.Pod.UID])
	})
}

// has tells whether a pod is among them; known, whether a measurement says so.
func has(list []Broken, pod types.UID) bool {
	return slices.ContainsFunc(list, func(b Broken) bool { return b.Pod.UID == pod })
}

func known(list []Broken, pod types.UID) bool {
	return slices.ContainsFunc(list, func(b Broken) bool { return b.Pod.UID == pod && b.Known })
}

// again measures a way once more. It is false if the node, or the other end, is not fit for it now.
func (a *Agent) again(ctx context.Context, way measure.Way, offered []measure.Tier) (bool, error) {
	if way.Peer == "" {
		at := slices.IndexFunc(offered, func(t measure.Tier) bool { return t.Name() == way.Tier })
		if at < 0 {
			return false, nil // a figure of somebody else's
		}
		measured, _, err := a.within(ctx, offered[at])
		return measured, err
	}
	if a.Between == nil {
		return false, nil
	}
	var over *peer.Network
	if way.Tier != measure.NodeNetwork {
		networks, err := a.Between.Probes.Networks(ctx)
		at := slices.IndexFunc(networks, func(n peer.Network) bool { return string(n.Tier) == way.Tier })
		if at < 0 || err != nil {
			return false, err // a figure of somebody else's, or of a network that is gone
		}
		over = &networks[at]
	}
	agents, err := a.Between.Agents.Peers(ctx, a.Interval)
	if err != nil {
		return false, err
	}
	to, found := peer.Of(agents, way.Peer)
	if !found {
		return false, fmt.Errorf("node %s has no agent that is ready", way.Peer)
	}
	return a.roundTrip(ctx, to, over, validFor(len(peer.Order(a.Node, agents, nil)), max(a.Between.Most, 1), a.Interval))
}
