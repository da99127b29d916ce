package controltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"nines.dev/nines/kernel/await"
)

// waiting is how long something has to happen on a busy host.
const waiting = 3 * time.Minute

// Apply makes the objects of a manifest.
func (p *Plane) Apply(t testing.TB, manifest []byte) {
	t.Helper()
	cluster, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(p.Kube.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Object == nil {
			continue
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}, kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		client := dynamic.ResourceInterface(cluster.Resource(mapping.Resource))
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			client = cluster.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		if _, err := client.Create(t.Context(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatalf("make %s %s: %v", kind.Kind, object.GetName(), err)
		}
	}
}

// Eventually waits until check has no error.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	if err := await.Until(t.Context(), await.Condition{What: what, Within: waiting, Every: 20 * time.Millisecond, Holds: check}); err != nil {
		t.Fatal(err)
	}
}

// Node makes a node that is ready, with room for pods and CPUs.
func (p *Plane) Node(t testing.TB, name string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	t.Helper()
	made, err := p.Kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("1000"),
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Pod makes a pod with annotations, and what change adds.
func (p *Plane) Pod(t testing.TB, name string, annotations map[string]string, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	made, err := p.MakePod(t.Context(), name, annotations, change...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// MakePod is Pod for clients beside the test's own goroutine, which alone may end the test.
func (p *Plane) MakePod(ctx context.Context, name string, annotations map[string]string, change ...func(*corev1.Pod)) (*corev1.Pod, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/none:1"}}},
	}
	for _, one := range change {
		one(pod)
	}
	return p.Kube.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// Bound waits until a pod has a node.
func (p *Plane) Bound(t testing.TB, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	Eventually(t, "pod "+name+" has a node", func(ctx context.Context) (err error) {
		if pod, err = p.Kube.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{}); err == nil && pod.Spec.NodeName == "" {
			err = fmt.Errorf("pending: %s", Why(pod))
		}
		return err
	})
	return pod
}

// Refused waits until the scheduler has said of a pod that it found no node, and returns its words.
func (p *Plane) Refused(t testing.TB, name string) string {
	t.Helper()
	var why string
	Eventually(t, "pod "+name+" is refused", func(ctx context.Context) error {
		pod, err := p.Kube.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Spec.NodeName != "" {
			t.Fatalf("pod %s is bound to node %s", name, pod.Spec.NodeName)
		}
		if why = Why(pod); why == "" {
			return errors.New("the scheduler has reported nothing")
		}
		return nil
	})
	return why
}

// Why is what the scheduler says of a pod without a node.
func Why(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

// Clear removes all pods, nodes and figures, so that the next test has a cluster of its own.
func (p *Plane) Clear(t testing.TB) {
	t.Helper()
	Eventually(t, "the cluster is empty", func(ctx context.Context) error {
		now := int64(0)
		all, remove := metav1.ListOptions{}, metav1.DeleteOptions{GracePeriodSeconds: &now}
		err := errors.Join(
			p.Kube.CoreV1().Pods("default").DeleteCollection(ctx, remove, all),
			p.Kube.CoreV1().Nodes().DeleteCollection(ctx, remove, all))
		known, listed := p.Latencies.List(ctx, all)
		if listed == nil {
			for _, one := range known.Items {
				if e := p.Latencies.Delete(ctx, one.Name); !apierrors.IsNotFound(e) {
					err = errors.Join(err, e)
				}
			}
		} else if !apierrors.IsNotFound(listed) {
			err = errors.Join(err, listed)
		}
		pods, e := p.Kube.CoreV1().Pods("default").List(ctx, all)
		if err = errors.Join(err, e); err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods are there", len(pods.Items))
		}
		return err
	})
}
