package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/figure"
	"nines.dev/nines/cluster/wish"
)

// ConditionHolds is the node's condition that its figures hold what its pods were placed for.
const ConditionHolds v1.NodeConditionType = "LatencyHolds"

// Broken is a pod whose wish its node does not hold any more, and why.
type Broken struct {
	Pod    *v1.Pod
	Reason string
	// Known is true if a measurement says so; otherwise there is none that is good.
	Known bool
}

// Judge finds the pods on a node whose wishes its figures do not hold. It is pure. A wish for the
// way to other nodes is left to who measures those, and one that is held by labels alone has
// nothing measured to break it.
func Judge(node *v1.Node, pods []v1.Pod, figures []v1alpha1.Figure, now time.Time) []Broken {
	ready := figure.Read(figures)
	var broken []Broken
	for i := range pods {
		p := &pods[i]
		if p.Annotations[wish.Placed] == "" || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
			continue
		}
		w, err := wish.Of(p.Annotations)
		if err != nil || w == nil || w.To != nil {
			continue
		}
		q := figure.Question{Wish: w, Now: now, Of: func(string) []figure.Figure { return ready }}
		if answer := q.Ask(figure.Node{Name: node.Name, Labels: node.Labels}); !answer.Suits() {
			broken = append(broken, Broken{p, answer.Sentence(w, now), answer.Miss == figure.Slower || answer.Miss == figure.Unsure})
		}
	}
	return broken
}

// judge tells the cluster which pods' wishes the node does not hold any more: by a condition of the
// node, and where a measurement says so, by an event of each pod.
func (a *Agent) judge(ctx context.Context, node *v1.Node, figures []v1alpha1.Figure) error {
	pods, err := a.pods(ctx)
	if err != nil {
		return err
	}
	broken := Judge(node, pods, figures, time.Now())
	next, known := condition(broken)
	a.Metrics.broken.Set(float64(known))
	before := conditionOf(node)
	next.LastTransitionTime = metav1.Now()
	next.LastHeartbeatTime = next.LastTransitionTime
	if before != nil && before.Status == next.Status {
		next.LastTransitionTime = before.LastTransitionTime
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []v1.NodeCondition{next}}})
	if err == nil {
		_, err = a.Kube.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		return fmt.Errorf("set the condition of node %s: %w", node.Name, err)
	}
	a.warn(ctx, broken)
	return nil
}

// condition is the node's condition with these pods, and how many of them are known to have it
// worse than they wished.
func condition(broken []Broken) (v1.NodeCondition, int) {
	known := 0
	for _, b := range broken {
		if b.Known {
			known++
		}
	}
	next := v1.NodeCondition{Type: ConditionHolds}
	switch {
	case known > 0:
		next.Status, next.Reason, next.Message = v1.ConditionFalse, "PromiseBroken", sentences(broken)
	case len(broken) > 0:
		next.Status, next.Reason, next.Message = v1.ConditionUnknown, "NotMeasured", sentences(broken)
	default:
		next.Status, next.Reason, next.Message = v1.ConditionTrue, "Holds", "what pods were placed for still holds"
	}
	return next, known
}

// warn gives each pod an event when its node is known to not hold its wish, once until it does again.
func (a *Agent) warn(ctx context.Context, broken []Broken) {
	still := map[types.UID]bool{}
	for _, b := range broken {
		if !b.Known {
			continue
		}
		still[b.Pod.UID] = true
		if a.warned[b.Pod.UID] {
			continue
		}
		if err := a.event(ctx, b); err != nil {
			slog.Error("event", "error", err)
			delete(still, b.Pod.UID) // in the next round again
		}
	}
	a.warned = still
}

func conditionOf(node *v1.Node) *v1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == ConditionHolds {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// mostSentences bounds a condition's message.
const mostSentences = 3

func sentences(broken []Broken) string {
	var parts []string
	for _, b := range broken[:min(len(broken), mostSentences)] {
		parts = append(parts, fmt.Sprintf("pod %s/%s: %s", b.Pod.Namespace, b.Pod.Name, b.Reason))
	}
	if more := len(broken) - mostSentences; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d pods more", more))
	}
	return strings.Join(parts, "; ")
}

func (a *Agent) event(ctx context.Context, b Broken) error {
	now := metav1.Now()
	_, err := a.Kube.CoreV1().Events(b.Pod.Namespace).Create(ctx, &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: b.Pod.Name + ".", Namespace: b.Pod.Namespace},
		InvolvedObject: v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: b.Pod.Namespace, Name: b.Pod.Name, UID: b.Pod.UID},
		Reason:         "LatencyPromiseBroken",
		Message:        b.Reason,
		Type:           v1.EventTypeWarning,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: v1.EventSource{Component: "nines-agent", Host: a.Node},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("tell pod %s/%s: %w", b.Pod.Namespace, b.Pod.Name, err)
	}
	return nil
}
