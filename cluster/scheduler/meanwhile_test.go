package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/scheduler/controltest"
)

// takenMeanwhile has somebody else take a device between the scheduler's choice and the writing of it. The
// pod gets another, with or without a wish, by a claim or by a resource that stands for one.
//
//	scheduler       port0 is for the pod
//	somebody        port0 is in the claim "other"
//	scheduler       writes port0 into the pod's claim, sees that it is in both, gives it back, takes port1
func (p plane) takenMeanwhile(t *testing.T) {
	p.fastPortClass(t)
	defer func() {
		p.Through(nil)
		p.clearClaims(t)
		p.StartScheduler(t)
	}()
	for name, ask := range map[string]func(context.Context, string) error{
		"from a pod with a wish":    p.podWithClaim,
		"from a pod without a wish": func(ctx context.Context, name string) error { return p.claimant(ctx, name, nil) },
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
			if err := p.claim(t.Context(), "other"); err != nil {
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
			select {
			case <-acted:
			default:
				t.Fatalf("nothing was allocated, but %v", gate.Steps())
			}
			if taken != nil {
				t.Fatal(taken)
			}
			claims, err := p.Kube.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, claim := range claims.Items {
				if claim.Name == "other" || claim.Status.Allocation == nil {
					continue
				}
				for _, result := range claim.Status.Allocation.Devices.Results {
					got = append(got, result.Device)
				}
			}
			if fmt.Sprint(got) != "[port1]" {
				t.Errorf("port0 is in the claim of somebody else, and the pod is bound with %v, after %v", got, gate.Steps())
			}
		})
	}
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
