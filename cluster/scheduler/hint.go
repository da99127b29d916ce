package scheduler

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/request"
)

// EventsToRegister says what may help a pod that found no node, beside new figures (waiting.go).
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		// A node's labels are who is meant by "to:", and the thesis's tiers.
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}, QueueingHintFn: p.afterNode},
		{Event: fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete}, QueueingHintFn: p.afterPodLeft},
		// The pod's own latency request. The framework has no finer event for annotations.
		{Event: fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update}, QueueingHintFn: p.afterRequest},
	}, nil
}

// afterNode queues pods when a node is new, or its labels are.
func (p *Plugin) afterNode(_ klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	if is == nil {
		return fwk.QueueSkip, nil
	}
	return queueIf(requestsLatency(pod) && (was == nil || !reflect.DeepEqual(was.Labels, is.Labels))), nil
}

// afterPodLeft queues a pod that a freed port may help.
func (p *Plugin) afterPodLeft(_ klog.Logger, pod *corev1.Pod, before, _ any) (fwk.QueueingHint, error) {
	left, _ := before.(*corev1.Pod)
	if left == nil {
		return fwk.Queue, nil
	}
	return queueIf(pod.Annotations[request.ThesisAnnotation] != "" && left.Annotations[request.ThesisAnnotation] != ""), nil
}

// afterRequest queues a pod whose annotations changed.
func (p *Plugin) afterRequest(_ klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	was, _ := before.(*corev1.Pod)
	is, _ := after.(*corev1.Pod)
	if was == nil || is == nil || is.UID != pod.UID {
		return fwk.QueueSkip, nil
	}
	for _, name := range []string{request.Annotation, request.ThesisAnnotation, request.PortsAnnotation} {
		if was.Annotations[name] != is.Annotations[name] {
			return fwk.Queue, nil
		}
	}
	return fwk.QueueSkip, nil
}

func queueIf(may bool) fwk.QueueingHint {
	if may {
		return fwk.Queue
	}
	return fwk.QueueSkip
}
