package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/scheduler"
	"nines.dev/nines/cluster/scheduler/controltest"
)

// What users and agents do to objects while the scheduler runs.

func promised(t *testing.T, pod *corev1.Pod) scheduler.Promise {
	t.Helper()
	promise, err := scheduler.ReadPromise(pod)
	if err != nil || promise == nil {
		t.Fatalf("pod %s has no promise: %v", pod.Name, err)
	}
	return *promise
}

func (p plane) patch(t *testing.T, change string, apply func(context.Context, []byte) error) {
	t.Helper()
	if err := apply(t.Context(), []byte(change)); err != nil {
		t.Fatal(err)
	}
}

func (p plane) annotate(t *testing.T, pod, name, value string) {
	p.patch(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value), func(ctx context.Context, change []byte) error {
		_, err := p.Kube.CoreV1().Pods("default").Patch(ctx, pod, types.MergePatchType, change, metav1.PatchOptions{})
		return err
	})
}

func (p plane) patchNode(t *testing.T, node, change string) {
	p.patch(t, change, func(ctx context.Context, change []byte) error {
		_, err := p.Kube.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, change, metav1.PatchOptions{})
		return err
	})
}

func (p plane) label(t *testing.T, node, name, value string) {
	p.patchNode(t, node, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, name, value))
}

func (p plane) cordon(t *testing.T, node string) {
	p.patchNode(t, node, `{"spec":{"unschedulable":true}}`)
}

func (p plane) remove(t *testing.T, pod string) {
	t.Helper()
	now := int64(0)
	if err := p.Kube.CoreV1().Pods("default").Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
}

// refuses tries with a new pod each time whether a latency request is refused, of a pod that is changed by more.
func (p plane) refuses(text string, more ...func(*corev1.Pod)) func(context.Context) error {
	tries := 0
	return func(ctx context.Context) error {
		tries++
		pods := p.Kube.CoreV1().Pods("default")
		try := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "try-", Namespace: "default", Annotations: request(text)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/none:1"}}},
		}
		for _, change := range more {
			change(try)
		}
		pod, err := pods.Create(ctx, try, metav1.CreateOptions{})
		for err == nil && pod.Spec.NodeName == "" && controltest.Why(pod) == "" {
			pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		}
		if err == nil && pod.Spec.NodeName != "" {
			err = errors.New("a pod was bound")
		}
		return err
	}
}
