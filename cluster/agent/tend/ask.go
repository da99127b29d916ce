package tend

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/spec"
)

// The annotations by which a pod asks. Their words are those of an experiment's keys isolation and rx.
const (
	IsolationKey = measure.IsolationKey
	ReceiveKey   = "nines.dev/rx"
)

// Interface is an interface that a pod has as a port.
type Interface struct {
	Name string
	Tier spec.LinkKind
	// NAPI is true if its device receives by instances of its own.
	NAPI bool
}

// Found is a pod of the node with what it has there.
type Found struct {
	Pod *v1.Pod
	// Own are the CPUs that containers of it have for themselves.
	Own tasks.Set
	// Interfaces are its ports.
	Interfaces []Interface
}

// Decision is what becomes of what a pod asks. It is empty for a pod that asks for nothing.
type Decision struct {
	UID types.UID
	// Isolation is how far others keep off Own; empty for not. IsolationRefused is why it is not had.
	Isolation        spec.Isolation
	Own              tasks.Set
	IsolationRefused string
	// Receive is how Interfaces receive; empty for as they are. ReceiveRefused is why it is not had.
	Receive        spec.Receive
	Interfaces     []string
	ReceiveRefused string
	// Left says which interfaces stay as they are.
	Left string
}

// Decide says what a pod that runs gets. It is pure.
func Decide(f Found) Decision {
	d := Decision{UID: f.Pod.UID, Own: f.Own}
	d.Isolation, d.IsolationRefused = isolationOf(f)
	d.receive(f)
	return d
}

// AsksIsolation tells whether a pod asks for CPUs that others keep off.
func AsksIsolation(pod *v1.Pod) bool {
	word := spec.Isolation(pod.Annotations[IsolationKey])
	return word != "" && word != spec.IsolationNone && word != spec.IsolationAffinity
}

// AsksReceive tells whether a pod asks for another way to receive.
func AsksReceive(pod *v1.Pod) bool {
	word := spec.Receive(pod.Annotations[ReceiveKey])
	return word != "" && word != spec.ReceiveInterrupt
}

// noOwnCPUs is how a pod gets CPUs of its own.
const noOwnCPUs = "no container of it has CPUs of its own: give each container limits of CPU and memory that equal its requests, " +
	"one of them whole CPUs, and the node's kubelet cpuManagerPolicy: static"

func isolationOf(f Found) (degree spec.Isolation, refused string) {
	if !AsksIsolation(f.Pod) {
		return "", ""
	}
	word := f.Pod.Annotations[IsolationKey]
	switch degree = spec.Isolation(word); {
	case degree != spec.IsolationPartition && degree != spec.IsolationIsolated:
		return "", fmt.Sprintf("%s %q is not known: give %s, %s, %s or %s; no trial runs beside the pod all the same",
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
		refuse("it is not known: give interrupt, awake, threaded, busy_poll or suspend")
		return
	}
	if len(f.Interfaces) == 0 {
		refuse("the pod has no interface that is a port of nines: give it one by a claim, or by Multus and the CNI plugin nines")
		return
	}
	var left []string
	for _, i := range f.Interfaces {
		switch {
		case d.Receive == spec.ReceiveAwake: // it is the CPUs' matter
		case i.NAPI:
			d.Interfaces = append(d.Interfaces, i.Name)
		default:
			left = append(left, fmt.Sprintf("%s (%s)", i.Name, i.Tier))
		}
	}
	why := strings.Join(left, ", ") + " receives by the card that it shares with others"
	needsCPUs := d.Receive == spec.ReceiveAwake || d.Receive == spec.ReceiveBusyPoll
	switch {
	case len(left) > 0 && len(d.Interfaces) == 0:
		refuse("%s: take a port of the tier bridge, ovn or sriov", why)
	case needsCPUs && len(f.Own) == 0:
		d.Interfaces = nil
		refuse("its threads need CPUs of the pod, and %s", noOwnCPUs)
	case len(left) > 0:
		d.Left = why + ", and stays as it is"
	}
}
