package scheduler_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/scheduler/controltest"
)

// takenMeanwhile has someone else take a device between the scheduler's choice and the writing of it. No
// pod is bound with it, with or without a latency request, by a claim or by a resource that stands for one.
//
//	scheduler       port0 is for the pod
//	someone        port0 is in the claim "other"
//	scheduler       writes port0 into the pod's claim, sees that it is in both, gives it back
//
// Kubernetes' memory of devices alone would then take port0 for free, as a claim that had it has none now:
// held.go says what prevents that. So the pod gets port1, and port0 is free when the other claim is gone.
func (p plane) takenMeanwhile(t *testing.T) {
	p.fastPortClass(t)
	defer func() {
		p.Through(nil)
		p.clearClaims(t)
		p.StartScheduler(t)
	}()
	for name, ask := range map[string]func(context.Context, string) error{
		"from a pod with a latency request":    p.podWithClaim,
		"from a pod without a latency request": func(ctx context.Context, name string) error { return p.claimant(ctx, name, nil) },
		"from a pod that asks for a resource": func(ctx context.Context, name string) error {
			_, err := p.MakePod(ctx, name, nil, func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{fastPort: resource.MustParse("1")}
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			gate := p.behindGate(t)
			p.fastPorts(t, "w0", 2)
			p.measure(t, "w0", figureOf("sriov", "", 50))
			if err := p.claim(t.Context(), "other", onePort); err != nil {
				t.Fatal(err)
			}
			if err := ask(t.Context(), "asks"); err != nil {
				t.Fatal(err)
			}
			var taken error
			acted := gate.At(stepAllocate, 1, controltest.Before, func(controltest.Step) bool {
				taken = p.allocate(context.Background(), "other", "w0", "port0")
				return true
			})
			p.LaunchScheduler(t)
			p.Bound(t, "asks")
			if <-acted; taken != nil {
				t.Fatal(taken)
			}
			if device := p.deviceOf(t, "asks"); device != "port1" {
				t.Errorf("it has %q, and someone else port0", device)
			}
			if err := p.Kube.ResourceV1().ResourceClaims("default").Delete(t.Context(), "other", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := p.podWithClaim(t.Context(), "next"); err != nil {
				t.Fatal(err)
			}
			p.Bound(t, "next")
			if device := p.deviceOf(t, "next"); device != "port0" {
				t.Errorf("the next pod has %q, and port0 is free", device)
			}
		})
	}
}

// deviceOf is the device that a pod has by its claim.
func (p plane) deviceOf(t *testing.T, pod string) string {
	t.Helper()
	claims, err := p.Kube.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range claims.Items {
		for _, user := range claim.Status.ReservedFor {
			if user.Name == pod && claim.Status.Allocation != nil {
				return claim.Status.Allocation.Devices.Results[0].Device
			}
		}
	}
	return ""
}

// allocate writes a device into a claim, as another scheduler would.
func (p plane) allocate(ctx context.Context, claim, node, device string) error {
	claims := p.Kube.ResourceV1().ResourceClaims("default")
	of, err := claims.Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return err
	}
	of.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "port", Driver: driver, Pool: node, Device: device}},
	}}
	_, err = claims.UpdateStatus(ctx, of, metav1.UpdateOptions{})
	return err
}
