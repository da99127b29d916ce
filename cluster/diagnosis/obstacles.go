package diagnosis

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

type id = types.UID

// obstacles are what Kubernetes' own filters have against a node, as far as the node and its pods
// show it: what the scheduler said last has the rest, such as volumes and devices.
func obstacles(pod *corev1.Pod, node *corev1.Node, on []*corev1.Pod) []string {
	var out []string
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			out = append(out, "the node is not ready")
		}
	}
	if node.Spec.Unschedulable {
		out = append(out, "the node is cordoned")
	}
	blocking := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = nil // the cordon, told above, has one
	}
	if taint, found := scheduling.FindMatchingUntoleratedTaint(klog.Background(), taints, pod.Spec.Tolerations, blocking, true); found {
		out = append(out, "the pod does not tolerate "+taint.ToString())
	}
	if match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !match {
		out = append(out, "the pod's node selector or affinity excludes it")
	}
	return append(out, lacking(pod, node, on)...)
}

// lacking names the resources of which the node has too little left.
func lacking(pod *corev1.Pod, node *corev1.Node, on []*corev1.Pod) []string {
	if pod.Spec.NodeName == node.Name {
		return nil // it has them
	}
	var out []string
	if most := node.Status.Allocatable.Pods().Value(); int64(len(on)) >= most {
		out = append(out, fmt.Sprintf("it has %d pods, its maximum", most))
	}
	for name, wanted := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		free := node.Status.Allocatable[name]
		for _, other := range on {
			if taken, found := resource.PodRequests(other, resource.PodResourcesOptions{})[name]; found {
				free.Sub(taken)
			}
		}
		if wanted.Cmp(free) > 0 {
			out = append(out, fmt.Sprintf("%s of %s is free, the pod requests %s", free.String(), name, wanted.String()))
		}
	}
	return out
}
