package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// Reserve looks at the chosen node once more, as figures may have changed since Filter, and
// remembers on which tier the pod will be.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	c, err := cycleOf(state)
	if err != nil {
		return nil // no latency request
	}
	info, err := p.handle.SnapshotSharedLister().NodeInfos().Get(node)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("node %s: %w", node, err))
	}
	answer := p.ask(p.fresh(c), pod, info)
	if !answer.Suits() {
		return refusal(&answer.Answer, c)
	}
	p.reserved.keep(pod.UID, answer.Tier, p.now())
	return nil
}

// Unreserve gives back what Reserve kept, if it did.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) {
	p.reserved.forget(pod.UID)
}

// PreBindPreFlight has PreBind left out for pods without a latency request. It only reads, so it can run
// beside that of others.
func (p *Plugin) PreBindPreFlight(_ context.Context, state fwk.CycleState, _ *corev1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if _, err := cycleOf(state); err != nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, nil
}

// PreBind looks again. Between Filter and here a pod may have waited for its devices and
// volumes, and the node's figures may be gone: then it goes back to the queue, and nothing is lost.
func (p *Plugin) PreBind(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node string) *fwk.Status {
	c, err := cycleOf(state)
	if err != nil {
		return nil
	}
	_, status := p.still(c, node)
	return status
}

// Bind looks whether the pod's devices are its own, and binds a pod with a latency request. The devices may take
// seconds, so it looks a last time at the figures: what it promises is what they are then. The promise
// is part of the binding: the API server writes both or none, and the scheduler needs no right to change
// pods.
func (p *Plugin) Bind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	if err := p.ownDevices(ctx, pod); err != nil {
		return fwk.AsStatus(fmt.Errorf("%s/%s on node %s: %w", pod.Namespace, pod.Name, node, err))
	}
	c, err := cycleOf(state)
	if err != nil {
		return fwk.NewStatus(fwk.Skip) // no latency request: the default binder's
	}
	answer, status := p.still(c, node)
	if status != nil {
		return status
	}
	promise, err := json.Marshal(promiseOf(answer))
	if err != nil {
		return fwk.AsStatus(err)
	}
	binding := &corev1.Binding{
		// With the UID: a pod of the same name that was made meanwhile is another.
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			Annotations: map[string]string{request.Placed: string(promise)},
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}
	if err := p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fwk.AsStatus(fmt.Errorf("bind %s/%s to node %s: %w", pod.Namespace, pod.Name, node, err))
	}
	return nil
}

// still asks the node again, outside of the scheduling cycle, where its snapshot must not be
// read: its labels are those that the informer has, and its ports were reserved. The status is nil if it
// still suits.
func (p *Plugin) still(c *cycle, node string) (*nodefit.Answer, *fwk.Status) {
	asked := nodefit.Node{Name: node}
	if known, err := p.handle.SharedInformerFactory().Core().V1().Nodes().Lister().Get(node); err == nil {
		asked.Labels = known.Labels
	}
	answer := p.fresh(c).Ask(asked)
	if !answer.Suits() {
		return &answer, refusal(&answer, c)
	}
	return &answer, nil
}

// fresh is the cycle's question at this time.
func (p *Plugin) fresh(c *cycle) *nodefit.Question {
	q := *c.question
	q.Now = p.now()
	return &q
}

func refusal(answer *nodefit.Answer, c *cycle) *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, answer.Sentence(c.question.Request, c.question.Now))
}
