package measure

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// IsolationKey is the annotation by which a pod asks that nothing runs beside it.
const IsolationKey = "nines.dev/isolation"

// Disturbs is the pod that a trial on its node would disturb: one that runs, or is about to, and
// has asked for isolation, or for whole CPUs (a Guaranteed container with a whole number of them,
// which the kubelet's static CPU manager gives it alone). Nil if there is none.
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

// hasWholeCPUs is true for a pod with a container that gets CPUs of its own.
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

// Busy says why a node is too busy for a trial; empty if it is quiet. idle is the part of the
// CPUs' time that nobody took lately.
func Busy(idle, wanted float64) string {
	if idle >= wanted {
		return ""
	}
	return fmt.Sprintf("its CPUs were idle for %s of the time, and a trial waits for %s", percent(idle), percent(wanted))
}

func percent(part float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*part), ".0") + " %"
}
