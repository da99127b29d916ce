package scheduler

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/nodefit"
)

// PreScore leaves the scores to others where this plugin would give each node the same: the pod
// has no latency request, and no node is known to be fast. It does so, too, for such a pod whose claim
// has alternatives: Kubernetes prefers nodes by these, and a fast port is on a fast node.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if _, err := cycleOf(state); err == nil {
		return nil
	}
	if p.claimsAlternatives(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	if !p.figures.empty() {
		return nil
	}
	for _, info := range nodes {
		labels := info.Node().Labels
		if nodefit.Ports(labels) > 0 || labels[nodefit.LabelOVS] == "true" {
			return nil
		}
	}
	return fwk.NewStatus(fwk.Skip)
}

// claimsAlternatives reports whether a claim of the pod says which device it likes best (firstAvailable). One that
// cannot be read says nothing.
func (p *Plugin) claimsAlternatives(pod *corev1.Pod) bool {
	if len(pod.Spec.ResourceClaims) == 0 {
		return false
	}
	lister := p.handle.SharedInformerFactory().Resource().V1().ResourceClaims().Lister()
	names, err := claimsOf(pod, lister)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		claim, err := lister.ResourceClaims(pod.Namespace).Get(name)
		return err == nil && slices.ContainsFunc(claim.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool { return len(r.FirstAvailable) > 0 })
	})
}

// Score prefers, for a pod without a latency request, nodes without anything fast; and for one with it
// the slowest tier that holds it (nodefit.Score).
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	node := info.Node()
	c, err := cycleOf(state)
	if err != nil {
		return nodefit.Spare(p.figures.fastest(node, p.now()), node.Labels), nil
	}
	answer := p.ask(c.question, pod, info)
	spare := nodefit.Spare(p.figures.fastest(node, c.question.Now), node.Labels)
	return nodefit.Score(&answer.Answer, c.question.Request, spare), nil
}

// ScoreExtensions has none: scores are in the framework's range, and mean the same in each cycle.
func (*Plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// SignPod says whether pods are alike for this plugin, so that the scheduler can place them in one
// go. Those without a latency request are. The others are not even like themselves: each placed takes what
// the next would have.
func (*Plugin) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if requestsLatency(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the scheduler places a pod with a latency request")
	}
	return nil, nil
}
