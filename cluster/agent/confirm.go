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
	"nines.dev/nines/cluster/api/v1alpha1"
)

// confirm measures again what seems to be broken before it is reported: something else on the node may have
// disturbed one trial. It returns the updated view, and the pods whose request the new trial alone meets.
//
// A request seems to be broken if all trials of the last hour together miss it, or the last trial alone does:
// when a node has just become slow, the median of an hour shows that only after half an hour. If the new trial
// alone misses the request as well, the node has changed, and the older trials are dropped.
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
	again, sure := map[measure.Way]bool{}, map[measure.Way]bool{}
	for _, b := range suspects {
		if v.foundChanged(b.Way) {
			sure[b.Way] = true // by two trials of the other end
			continue
		}
		if _, tried := again[b.Way]; tried {
			continue
		}
		if a.window.JustChanged(b.Way) {
			again[b.Way] = true // by a second trial, a moment ago
			continue
		}
		slog.Info("measuring again before reporting", "pod", b.Pod.Namespace+"/"+b.Pod.Name, "reason", b.Reason)
		if again[b.Way], err = a.again(ctx, b.Way, offered); err != nil {
			slog.Error("trial failed", "error", err)
		}
		if ctx.Err() != nil {
			return v, nil, ctx.Err()
		}
	}
	// The last trial of a path that was measured again is the new one.
	if newest, err = a.window.Newest(); err != nil {
		return v, nil, err
	}
	v.Now = time.Now()
	alone := Judge(v.With(newest))
	acquitted := map[types.UID]bool{}
	for _, b := range suspects {
		switch {
		case sure[b.Way]:
			a.sure(b)
		case !again[b.Way]:
			// Not confirmed, but nothing better is known.
		case !has(alone, b.Pod.UID):
			acquitted[b.Pod.UID] = true
			slog.Info("the request is met when measured again", "pod", b.Pod.Namespace+"/"+b.Pod.Name)
		default:
			a.sure(b)
			if has(lately, b.Pod.UID) && known(alone, b.Pod.UID) {
				a.window.Restart(b.Way)
			}
		}
	}
	v.Figures, err = a.figures(ctx, v.Now)
	return v, acquitted, err
}

// sure notes that a broken pod's path was measured again.
func (a *Agent) sure(b Broken) {
	if a.confirmed == nil {
		a.confirmed = map[types.UID]bool{}
	}
	a.confirmed[b.Pod.UID] = true
}

// foundChanged reports whether the other end of a path has found it changed, after what this end has measured.
func (v View) foundChanged(way measure.Way) bool {
	at := slices.IndexFunc(v.Others[way.Peer], func(f v1alpha1.Figure) bool { return f.Tier == way.Tier && f.Peer == v.Node.Name && f.ChangedAt != nil })
	if at < 0 {
		return false
	}
	changed := v.Others[way.Peer][at].ChangedAt
	return !slices.ContainsFunc(v.Figures, func(f v1alpha1.Figure) bool {
		return f.Tier == way.Tier && f.Peer == way.Peer && !f.MeasuredAt.Before(changed)
	})
}

// unsaid returns the broken pods that a measurement shows and that were not reported yet, or that are to be
// evicted and were not measured again.
func (a *Agent) unsaid(broken []Broken) []Broken {
	return slices.DeleteFunc(broken, func(b Broken) bool {
		return !b.Known || a.warned[b.Pod.UID] && (a.Evictor == nil || a.confirmed[b.Pod.UID])
	})
}

// has reports whether a pod is in the list; known, whether a measurement shows it.
func has(list []Broken, pod types.UID) bool {
	return slices.ContainsFunc(list, func(b Broken) bool { return b.Pod.UID == pod })
}

func known(list []Broken, pod types.UID) bool {
	return slices.ContainsFunc(list, func(b Broken) bool { return b.Pod.UID == pod && b.Known })
}

// again measures a path once more. It returns false if this node, or the other end, cannot be measured now.
func (a *Agent) again(ctx context.Context, way measure.Way, offered []measure.Tier) (bool, error) {
	if way.Peer == "" {
		at := slices.IndexFunc(offered, func(t measure.Tier) bool { return t.Name() == way.Tier })
		if at < 0 {
			return false, nil // another program's figure
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
			return false, err // another program's figure, or of a network that is gone
		}
		over = &networks[at]
	}
	agents, err := a.Between.Agents.Peers(ctx, a.Interval)
	if err != nil {
		return false, err
	}
	to, found := peer.Of(agents, way.Peer)
	if !found {
		return false, fmt.Errorf("node %s has no ready agent", way.Peer)
	}
	valid := validFor(len(peer.Order(a.Node, agents, nil)), max(a.Between.Most, 1), a.Interval)
	return a.roundTrip(ctx, to, over, valid, max(surePatience, a.Interval/2))
}
