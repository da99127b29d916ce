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

// takenMeanwhile has somebody else take a device between the scheduler's choice and the writing of it. No
// pod is bound with it, with or without a wish, by a claim or by a resource that stands for one.
//
//	scheduler       port0 is for the pod
//	somebody        port0 is in the claim "other"
//	scheduler       writes port0 into the pod's claim, sees that it is in both, gives it back
//
// Kubernetes' memory of devices then takes port0 for free, as a claim that had it has none now
// (allocateddevices.go of its plugin DynamicResources). So the scheduler may choose it again and again, and
// the pod waits until the other claim is gone.
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
			controltest.Eventually(t, "what is in two claims is given back", func(context.Context) error {
				writes := 0
				for _, step := range gate.Steps() {
					if step.Kind == stepAllocate {
						writes++
					}
				}
				if writes < 2 {
					return fmt.Errorf("the steps are %v", gate.Steps())
				}
				return nil
			})
			if <-acted; taken != nil {
				t.Fatal(taken)
			}
			if pod, err := p.Kube.CoreV1().Pods("default").Get(t.Context(), "asks", metav1.GetOptions{}); err != nil || pod.Spec.NodeName != "" {
				t.Errorf("it is bound with a device of somebody else: %v", err)
			}
			if err := p.Kube.ResourceV1().ResourceClaims("default").Delete(t.Context(), "other", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			p.Bound(t, "asks")
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
