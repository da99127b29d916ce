package dra

import (
	"cmp"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"nines.dev/nines/cluster/port"
)

// The reasons of events that kubectl describe pod shows.
const (
	eventAttached = "PortAttached"
	eventRefused  = "PortRefused"
)

// tellAttached sends a pod an event for a port that it got: its name in the pod, the port, and its tier.
func tellAttached(to record.EventRecorder, h port.Held) {
	seen := h.Seen()
	text := fmt.Sprintf("%s is port %s (%s)", cmp.Or(seen.Interface, seen.Socket, seen.PCI), seen.Port, seen.Tier)
	if len(seen.Addresses) > 0 {
		text += " with " + strings.Join(seen.Addresses, ", ")
	}
	to.Event(podReference(h.Pod), v1.EventTypeNormal, eventAttached, text)
}

// tellRefused sends the pods of a claim an event that says why they do not get its ports.
func tellRefused(to record.EventRecorder, claim *resource.ResourceClaim, why error) {
	for _, user := range claim.Status.ReservedFor {
		if isPod(user) {
			to.Event(podReference(podOfUser(claim, user)), v1.EventTypeWarning, eventRefused, fmt.Sprintf("claim %s: %v", claim.Name, why))
		}
	}
}

func podReference(p port.Pod) *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}
}
