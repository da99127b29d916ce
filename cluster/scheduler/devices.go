package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"nines.dev/nines/kernel/await"
)

// Kubernetes' own plugin allocates the devices of claims, and accounts for them in the scheduler's
// memory. If the API server ends between an allocation and the pod's binding, that memory can be
// behind: another claim then gets the same device (seen with 1.37.1). So the devices of a pod are
// looked at once more before it is bound, as the API server has them.

// ownDevices fails if a device of the pod's claims is in another claim, too. The pod's claim then
// gives its devices back, and the pod is placed again. It asks nothing of a pod that has no claim.
func (p *Plugin) ownDevices(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Spec.ResourceClaims) == 0 && !asksForDevices(pod) {
		return nil
	}
	lister := p.handle.SharedInformerFactory().Resource().V1().ResourceClaims().Lister()
	names, err := claimsOf(pod, lister)
	if err != nil {
		return err
	}
	for _, name := range names {
		claim, err := p.handle.ClientSet().ResourceV1().ResourceClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read claim %s/%s before binding: %w", pod.Namespace, name, err)
		}
		if err := seen(ctx, lister, claim); err != nil {
			return err
		}
		all, err := lister.List(labels.Everything())
		if err != nil {
			return err
		}
		if device, other := shared(claim, all); other != nil {
			taken := fmt.Errorf("device %s is also in claim %s/%s; claim %s/%s releases it, and the pod is placed again",
				device, other.Namespace, other.Name, claim.Namespace, claim.Name)
			return errors.Join(taken, p.giveBack(ctx, claim, other, pod))
		}
	}
	return nil
}

// claimsOf names the claims of a pod: those that it has, and that which the scheduler has made of the
// devices that its containers ask for as resources.
func claimsOf(pod *corev1.Pod, lister resourcelisters.ResourceClaimLister) ([]string, error) {
	var names []string
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if name != nil { // else it needs none
			names = append(names, *name)
		}
	}
	if !asksForDevices(pod) {
		return names, nil
	}
	all, err := lister.ResourceClaims(pod.Namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	for _, claim := range all {
		if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" && metav1.IsControlledBy(claim, pod) {
			names = append(names, claim.Name)
		}
	}
	return names, nil
}

// asksForDevices reports whether a container asks for a resource that a class of devices can stand for:
// one whose name has the domain of its maker. A node's device plugin can have it as well.
func asksForDevices(pod *corev1.Pod) bool {
	asks := func(c corev1.Container) bool {
		for name := range c.Resources.Requests {
			if strings.Contains(string(name), "/") {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(pod.Spec.Containers, asks) || slices.ContainsFunc(pod.Spec.InitContainers, asks)
}

// seenPatience ends the wait for a claim that was deleted meanwhile, or for an API server that is gone:
// the pod is tried again.
const seenPatience = 10 * time.Second

// seen waits until the informer has what the API server has of a claim. Events come in the order of
// the writes, so it then has all allocations that were written before.
func seen(ctx context.Context, lister resourcelisters.ResourceClaimLister, claim *resourcev1.ResourceClaim) error {
	return await.Until(ctx, await.Condition{
		What: fmt.Sprintf("claim %s/%s is seen", claim.Namespace, claim.Name), Within: seenPatience, Every: 2 * time.Millisecond,
		Holds: func(context.Context) error {
			known, err := lister.ResourceClaims(claim.Namespace).Get(claim.Name)
			if err != nil || known.UID != claim.UID {
				return await.Answer(false, nil)
			}
			order, err := resourceversion.CompareResourceVersion(known.ResourceVersion, claim.ResourceVersion)
			return await.Answer(order >= 0, err)
		},
	})
}

// shared is a device of the claim that another claim has, too, without a share of its own in it.
func shared(claim *resourcev1.ResourceClaim, all []*resourcev1.ResourceClaim) (device string, other *resourcev1.ResourceClaim) {
	mine := map[string]bool{}
	for name := range DevicesOf(claim) {
		mine[name] = true
	}
	if len(mine) == 0 {
		return "", nil
	}
	for _, other := range all {
		if other.UID == claim.UID {
			continue
		}
		for name := range DevicesOf(other) {
			if mine[name] {
				return name, other
			}
		}
	}
	return "", nil
}

// AllocatedTo are the devices that a claim has for itself, or a share of, but not those that it only
// administers.
func AllocatedTo(claim *resourcev1.ResourceClaim) []resourcev1.DeviceRequestAllocationResult {
	if claim.Status.Allocation == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(claim.Status.Allocation.Devices.Results), administers)
}

// DevicesOf are the devices that a claim has for itself, each as DRIVER/POOL/DEVICE.
func DevicesOf(claim *resourcev1.ResourceClaim) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, result := range AllocatedTo(claim) {
			if isAlone(result) && !yield(result.Driver+"/"+result.Pool+"/"+result.Device) {
				return
			}
		}
	}
}

// isAlone reports whether a claim has the device for itself: it does not only administer it, nor has it a
// share of it.
func isAlone(r resourcev1.DeviceRequestAllocationResult) bool {
	return !administers(r) && r.ShareID == nil
}

func administers(r resourcev1.DeviceRequestAllocationResult) bool {
	return r.AdminAccess != nil && *r.AdminAccess
}

// giveBack takes the claim's allocation back, unless another pod has it as well. What another claim has
// of it stays counted as taken.
func (p *Plugin) giveBack(ctx context.Context, claim, other *resourcev1.ResourceClaim, pod *corev1.Pod) error {
	for _, user := range claim.Status.ReservedFor {
		if user.UID != pod.UID {
			return fmt.Errorf("%s %s also uses the claim: delete one of the pods", user.Resource, user.Name)
		}
	}
	if err := p.held.keep(other); err != nil {
		return err
	}
	free := claim.DeepCopy()
	free.Status.Allocation, free.Status.ReservedFor, free.Status.Devices = nil, nil, nil
	// With its resource version: what was changed meanwhile stays.
	_, err := p.handle.ClientSet().ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, free, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("release the devices of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}
