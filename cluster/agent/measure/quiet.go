package measure

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"nines.dev/nines/cluster/request"
)

// IsolationKey is the annotation with which a pod requests isolation: nothing else runs beside it.
const IsolationKey = request.IsolationAnnotation

// Disturbs returns the pod that a trial on its node would disturb: a running or starting pod that requests
// isolation, or exclusive CPUs (a container with a whole number of CPUs in a Guaranteed pod, to which the
// kubelet's static CPU manager assigns them). Nil if there is none.
func Disturbs(pods []v1.Pod) *v1.Pod {
	for i := range pods {
		p := &pods[i]
		if p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
			continue
		}
		asked := p.Annotations[IsolationKey]
		if asked != "" && asked != "none" || hasWholeCPUs(p) {
			return p
		}
	}
	return nil
}

// hasWholeCPUs reports whether a pod has a container with exclusive CPUs.
func hasWholeCPUs(p *v1.Pod) bool {
	if p.Status.QOSClass != v1.PodQOSGuaranteed {
		return false
	}
	for _, c := range p.Spec.Containers {
		cpus, asked := c.Resources.Requests[v1.ResourceCPU]
		if asked && cpus.MilliValue() >= 1000 && cpus.MilliValue()%1000 == 0 {
			return true
		}
	}
	return false
}

// Busy returns why a node is too busy for a trial; empty if it is quiet. idle is the fraction of CPU time that
// was idle lately.
func Busy(idle, wanted float64) string {
	if idle >= wanted {
		return ""
	}
	return fmt.Sprintf("its CPUs were only %s idle; a trial needs %s", percent(idle), percent(wanted))
}

func percent(part float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*part), ".0") + " %"
}
