package scheduler

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// held keeps devices counted as taken in Kubernetes' memory. That is a set of devices, without their
// claims (allocateddevices.go of the plugin DynamicResources): when one of two claims with the same device
// gives it back, the set takes it for free, though the other claim still has it, and offers it again and
// again. What is in flight counts as well, so the other claim is put there, under a name that no claim
// has, until it loses its devices. It is safe for concurrent use, as what is in flight is.
type held struct {
	inFlight fwk.ResourceClaimTracker
	claims   resourcelisters.ResourceClaimLister
}

// heldName is what a claim is called in flight. It is no UID: a pod that has the claim would wait for
// its allocation.
func heldName(claim *resourcev1.ResourceClaim) types.UID { return Name + "/" + claim.UID }

// keep counts the devices of a claim as taken.
func (h held) keep(claim *resourcev1.ResourceClaim) error {
	alone := claim.DeepCopy() // without shares of devices, which are counted right, and would be twice
	results := &alone.Status.Allocation.Devices.Results
	*results = slices.DeleteFunc(*results, func(r resourcev1.DeviceRequestAllocationResult) bool { return !isAlone(r) })
	if err := h.inFlight.SignalClaimPendingAllocation(heldName(claim), alone); err != nil {
		return err
	}
	// Its end may have been told before this.
	known, err := h.claims.ResourceClaims(claim.Namespace).Get(claim.Name)
	if err != nil || !sameDevices(claim, known) {
		h.forget(claim)
	}
	return nil
}

func (h held) forget(claim *resourcev1.ResourceClaim) {
	h.inFlight.MaybeRemoveClaimPendingAllocation(heldName(claim), true)
}

// watched are the handlers that see claims lose their devices.
func (h held) watched() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, ok := before.(*resourcev1.ResourceClaim)
			is, okay := after.(*resourcev1.ResourceClaim)
			if ok && okay && !sameDevices(was, is) {
				h.forget(was)
			}
		},
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if claim, ok := object.(*resourcev1.ResourceClaim); ok {
				h.forget(claim)
			}
		},
	}
}

// sameDevices reports whether a claim is the same, with the same devices. Kubernetes never changes an
// allocation: it goes, and another comes.
func sameDevices(before, after *resourcev1.ResourceClaim) bool {
	if before.UID != after.UID {
		return false
	}
	had := map[string]bool{}
	for name := range DevicesOf(before) {
		had[name] = true
	}
	for name := range DevicesOf(after) {
		if !had[name] {
			return false
		}
		delete(had, name)
	}
	return len(had) == 0
}
