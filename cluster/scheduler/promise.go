package scheduler

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// Promise is what a node held when a pod was bound to it. It stays on the pod as the annotation
// nines.dev/placed, so that the agent can tell whether it still holds.
type Promise struct {
	Node string `json:"node"`
	Tier string `json:"tier,omitempty"`
	Peer string `json:"peer,omitempty"`
	// Limit is the one with the least room: "p99.99 < 100us".
	Limit string `json:"limit,omitempty"`
	// Percentile is the figure's, with its value and how large it may be.
	Percentile string `json:"percentile,omitempty"`
	ValueNs    int64  `json:"valueNs,omitempty"`
	BoundNs    int64  `json:"boundNs,omitempty"`
	// MeasuredAt is absent where nothing is measured and labels stood in for it.
	MeasuredAt *metav1.Time `json:"measuredAt,omitempty"`
	// Fallback tells that the node holds none of the pod's limits, which the pod allowed.
	Fallback bool `json:"fallback,omitempty"`
}

func promiseOf(a *nodefit.Answer) Promise {
	if !a.Met {
		return Promise{Node: a.Node, Fallback: true}
	}
	e := a.Evidence
	p := Promise{
		Node: a.Node, Tier: a.Tier, Peer: e.Peer, Limit: e.Limit.String(),
		Percentile: e.P, ValueNs: e.ValueNs, BoundNs: e.BoundNs,
	}
	if !a.ByLabel {
		at := metav1.NewTime(e.MeasuredAt)
		p.MeasuredAt = &at
	}
	return p
}

// ReadPromise reads what was promised to a pod; nil if nothing was.
func ReadPromise(pod *corev1.Pod) (*Promise, error) {
	text, found := pod.Annotations[request.Placed]
	// Before it is bound, a pod has what someone wrote by hand.
	if !found || pod.Spec.NodeName == "" {
		return nil, nil
	}
	p := &Promise{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, fmt.Errorf("annotation %s of pod %s/%s: %w", request.Placed, pod.Namespace, pod.Name, err)
	}
	if p.Node != pod.Spec.NodeName {
		return nil, nil // of another time
	}
	return p, nil
}
