package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// ConditionHolds is the node condition that its figures meet the latency requests of its pods.
const ConditionHolds v1.NodeConditionType = "LatencyHolds"

// Broken is a pod whose latency request its node no longer meets, with the reason.
type Broken struct {
	Pod    *v1.Pod
	Reason string
	// Known is true if a measurement shows it; otherwise there is no valid figure, or it has too few packets.
	Known bool
	// Way is the path that came closest to meeting the request.
	Way measure.Way
}

// View is what an agent knows when it compares requests with figures.
type View struct {
	Node *v1.Node
	Pods []v1.Pod
	// Figures are the node's own.
	Figures []v1alpha1.Figure
	// Others are the figures of the nodes that the pods' requests name as targets, by node.
	Others map[string][]v1alpha1.Figure
	// Peers are these target nodes, by the text of the target.
	Peers map[string][]string
	Now   time.Time
}

// With returns the view with the given figures in place of those of the same paths.
func (v View) With(figures []v1alpha1.Figure) View {
	kept := append([]v1alpha1.Figure{}, figures...)
	replaced := map[string]bool{}
	for _, f := range figures {
		if f.Peer != "" {
			replaced[f.Tier+"/"+f.Peer] = true
		}
	}
	for _, f := range v.Figures {
		if !slices.ContainsFunc(figures, func(g v1alpha1.Figure) bool { return g.Tier == f.Tier && g.Peer == f.Peer }) {
			kept = append(kept, f)
		}
	}
	v.Figures = kept
	// What the other end has measured of the same path is as old as what is replaced.
	others := map[string][]v1alpha1.Figure{}
	for node, theirs := range v.Others {
		for _, f := range theirs {
			if f.Peer != v.Node.Name || !replaced[f.Tier+"/"+node] {
				others[node] = append(others[node], f)
			}
		}
	}
	v.Others = others
	return v
}

// Judge finds the pods of a node whose latency requests its figures do not meet. It is pure. A request that
// only labels meet has no measurement that could show otherwise.
func Judge(v View) []Broken {
	ready := map[string][]nodefit.Figure{}
	for node, figures := range v.Others {
		ready[node] = nodefit.Read(figures)
	}
	ready[v.Node.Name] = nodefit.Read(v.Figures)
	var broken []Broken
	for i := range v.Pods {
		p := &v.Pods[i]
		r := promised(p)
		if r == nil {
			continue
		}
		q := nodefit.Question{Request: r, Now: v.Now, Of: func(node string) []nodefit.Figure { return ready[node] }}
		if r.To != nil {
			q.Peers = v.Peers[r.To.Text]
		}
		answer := q.Ask(nodefit.Node{Name: v.Node.Name, Labels: v.Node.Labels})
		if answer.Suits() {
			continue
		}
		broken = append(broken, Broken{
			Pod: p, Reason: answer.Sentence(r, v.Now), Known: answer.Miss == nodefit.Slower,
			Way: measure.Way{Tier: answer.Evidence.Tier, Peer: answer.Evidence.Peer},
		})
	}
	return broken
}

// promised returns the latency request by which the scheduler placed a pod; nil if the scheduler did not place
// it, or if it has ended.
func promised(p *v1.Pod) *request.Request {
	if p.Annotations[request.Placed] == "" || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
		return nil
	}
	r, err := request.Of(p.Annotations)
	if err != nil {
		return nil // the annotation was changed after the pod was placed
	}
	return r
}

// judge reports which pods' latency requests the node no longer meets: by the node condition, and where a
// measurement shows it, by an event of each pod. It leaves out the acquitted pods.
func (a *Agent) judge(ctx context.Context, v View, acquitted map[types.UID]bool) error {
	node := v.Node
	broken := slices.DeleteFunc(Judge(v), func(b Broken) bool { return acquitted[b.Pod.UID] })
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
	return a.evict(ctx, v, broken)
}

// condition returns the node condition for these pods, and how many of them are measured to be slower than
// requested.
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
		next.Status, next.Reason, next.Message = v1.ConditionTrue, "Holds", "the node still meets the latency that its pods were placed for"
	}
	return next, known
}

// warn sends each pod an event when its node is measured to miss its request, once until the request is met
// again.
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
		if err := a.event(ctx, b.Pod, "LatencyPromiseBroken", b.Reason); err != nil {
			slog.Error("event not written", "error", err)
			delete(still, b.Pod.UID) // try again in the next round
		}
	}
	a.warned = still
	maps.DeleteFunc(a.confirmed, func(pod types.UID, _ bool) bool { return !still[pod] })
}

func conditionOf(node *v1.Node) *v1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == ConditionHolds {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// mostSentences limits a condition's message.
const mostSentences = 3

func sentences(broken []Broken) string {
	var parts []string
	for _, b := range broken[:min(len(broken), mostSentences)] {
		parts = append(parts, fmt.Sprintf("pod %s/%s: %s", b.Pod.Namespace, b.Pod.Name, b.Reason))
	}
	if more := len(broken) - mostSentences; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more pods", more))
	}
	return strings.Join(parts, "; ")
}

func (a *Agent) event(ctx context.Context, pod *v1.Pod, reason, message string) error {
	now := metav1.Now()
	_, err := a.Kube.CoreV1().Events(pod.Namespace).Create(ctx, &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: pod.Name + ".", Namespace: pod.Namespace},
		InvolvedObject: v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Reason:         reason,
		Message:        message,
		Type:           v1.EventTypeWarning,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: v1.EventSource{Component: "nines-agent", Host: a.Node},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("write an event of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
