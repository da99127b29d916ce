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

// Events of pods, for people: kubectl describe pod.
const (
	eventAttached = "PortAttached"
	eventRefused  = "PortRefused"
)

// tellAttached tells a pod of a port that it has got: by which name it finds it, and what it is.
func tellAttached(to record.EventRecorder, h port.Held) {
	seen := h.Seen()
	text := fmt.Sprintf("%s is port %s (%s)", cmp.Or(seen.Interface, seen.Socket, seen.PCI), seen.Port, seen.Tier)
	if len(seen.Addresses) > 0 {
		text += " with " + strings.Join(seen.Addresses, ", ")
	}
	to.Event(podReference(h.Pod), v1.EventTypeNormal, eventAttached, text)
}

// tellRefused tells the pods of a claim why they do not get its ports.
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
