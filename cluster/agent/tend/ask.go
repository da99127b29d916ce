package tend

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/request"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/spec"
)

// The annotations with which a pod makes its requests. Their values are those of an experiment's keys
// isolation and rx.
const (
	IsolationKey = measure.IsolationKey
	ReceiveKey   = request.ReceiveAnnotation
)

// Interface is a network interface that a pod has as a port.
type Interface struct {
	Name string
	Tier spec.LinkKind
	// NAPI is true if its device has its own NAPI instances.
	NAPI bool
}

// Found is a pod of the node with its CPUs and ports.
type Found struct {
	Pod *v1.Pod
	// Own are the exclusive CPUs of its containers.
	Own tasks.Set
	// Interfaces are its ports.
	Interfaces []Interface
}

// Decision is what a pod gets of what it requests. It is empty for a pod that requests nothing.
type Decision struct {
	UID types.UID
	// Isolation is how far other programs are kept off Own; empty for not at all. IsolationRefused is the
	// reason of a refusal.
	Isolation        spec.Isolation
	Own              tasks.Set
	IsolationRefused string
	// Receive is the receive mode of Interfaces; empty for unchanged. ReceiveRefused is the reason of a
	// refusal.
	Receive        spec.Receive
	Interfaces     []string
	ReceiveRefused string
	// Left says which interfaces are not changed.
	Left string
}

// Decide returns what a running pod gets. It is pure.
func Decide(f Found) Decision {
	d := Decision{UID: f.Pod.UID, Own: f.Own}
	d.Isolation, d.IsolationRefused = isolationOf(f)
	d.receive(f)
	return d
}

// AsksIsolation reports whether a pod requests CPUs that other programs are kept off.
func AsksIsolation(pod *v1.Pod) bool {
	word := spec.Isolation(pod.Annotations[IsolationKey])
	return word != "" && word != spec.IsolationNone && word != spec.IsolationAffinity
}

// AsksReceive reports whether a pod requests another receive mode.
func AsksReceive(pod *v1.Pod) bool {
	word := spec.Receive(pod.Annotations[ReceiveKey])
	return word != "" && word != spec.ReceiveInterrupt
}

// noOwnCPUs says how a pod gets exclusive CPUs.
const noOwnCPUs = "none of its containers has exclusive CPUs: set CPU and memory limits equal to the requests in each container, " +
	"request whole CPUs in one of them, and set cpuManagerPolicy: static in the node's kubelet"

func isolationOf(f Found) (degree spec.Isolation, refused string) {
	if !AsksIsolation(f.Pod) {
		return "", ""
	}
	word := f.Pod.Annotations[IsolationKey]
	switch degree = spec.Isolation(word); {
	case degree != spec.IsolationPartition && degree != spec.IsolationIsolated:
		return "", fmt.Sprintf("%s %q is unknown; allowed: %s, %s, %s or %s. The agent still runs no trials beside the pod",
			IsolationKey, word, spec.IsolationNone, spec.IsolationAffinity, spec.IsolationPartition, spec.IsolationIsolated)
	case len(f.Own) == 0:
		return "", fmt.Sprintf("%s %s: %s", IsolationKey, degree, noOwnCPUs)
	}
	return degree, ""
}

func (d *Decision) receive(f Found) {
	if !AsksReceive(f.Pod) {
		return
	}
	word := f.Pod.Annotations[ReceiveKey]
	d.Receive = spec.Receive(word)
	refuse := func(format string, args ...any) {
		d.Receive, d.ReceiveRefused = "", fmt.Sprintf("%s %s: ", ReceiveKey, word)+fmt.Sprintf(format, args...)
	}
	known := []spec.Receive{spec.ReceiveInterrupt, spec.ReceiveAwake, spec.ReceiveThreaded, spec.ReceiveBusyPoll, spec.ReceiveSuspend}
	if !slices.Contains(known, d.Receive) {
		refuse("unknown; allowed: interrupt, awake, threaded, busy_poll or suspend")
		return
	}
	if len(f.Interfaces) == 0 {
		refuse("the pod has no interface that is a port of nines: give it one with a claim, or with Multus and the CNI plugin nines")
		return
	}
	var left []string
	for _, i := range f.Interfaces {
		switch {
		case d.Receive == spec.ReceiveAwake: // it concerns CPUs, not interfaces
		case i.NAPI:
			d.Interfaces = append(d.Interfaces, i.Name)
		default:
			left = append(left, fmt.Sprintf("%s (%s)", i.Name, i.Tier))
		}
	}
	why := strings.Join(left, ", ") + " receives through the card that it shares with others"
	needsCPUs := d.Receive == spec.ReceiveAwake || d.Receive == spec.ReceiveBusyPoll
	switch {
	case len(left) > 0 && len(d.Interfaces) == 0:
		refuse("%s: use a port of the tier bridge, ovn or sriov", why)
	case needsCPUs && len(f.Own) == 0:
		d.Interfaces = nil
		refuse("its threads need exclusive CPUs of the pod, but %s", noOwnCPUs)
	case len(left) > 0:
		d.Left = why + ", and is not changed"
	}
}
