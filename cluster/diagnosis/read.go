package diagnosis

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nines.dev/nines/cluster/agent/tend"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/exit"
)

// Read fetches what an explanation of a pod needs.
func Read(ctx context.Context, config *rest.Config, namespace, pod string) (Cluster, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Cluster{}, fmt.Errorf("client of the cluster: %w", err)
	}
	latencies, err := client.New(config)
	if err != nil {
		return Cluster{}, err
	}
	of, err := kube.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Cluster{}, exit.Wrongf("pod %s does not exist in namespace %s; -n chooses another namespace", pod, namespace)
	case err != nil:
		return Cluster{}, fmt.Errorf("read pod %s/%s: %w", namespace, pod, err)
	}
	c, err := Around(ctx, kube, latencies, of)
	if err == nil && (len(of.Spec.ResourceClaims) > 0 || of.Status.ExtendedResourceClaimStatus != nil) {
		c.Devices, err = readDevices(ctx, kube)
	}
	if err == nil && (tend.AsksIsolation(of) || tend.AsksReceive(of)) {
		c.Events, err = readEvents(ctx, kube, of)
	}
	return c, err
}

// readEvents reads what a pod was told.
func readEvents(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod) ([]corev1.Event, error) {
	of := fields.OneTermEqualSelector("involvedObject.name", pod.Name).String()
	list, err := kube.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{FieldSelector: of})
	if err != nil {
		return nil, fmt.Errorf("list the events of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return list.Items, nil
}

// readDevices reads what claims are about.
func readDevices(ctx context.Context, kube kubernetes.Interface) (d Devices, err error) {
	claims, err := kube.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return d, fmt.Errorf("list the claims of devices: %w", err)
	}
	slices, err := kube.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
	if err != nil {
		return d, fmt.Errorf("list the nodes' devices: %w", err)
	}
	classes, err := kube.ResourceV1().DeviceClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return d, fmt.Errorf("list the classes of devices: %w", err)
	}
	return Devices{Claims: claims.Items, Slices: slices.Items, Classes: classes.Items}, nil
}

// Around fetches what an explanation of a pod needs besides the pod: nodes, pods and figures.
func Around(ctx context.Context, kube kubernetes.Interface, latencies *client.Client, pod *corev1.Pod) (Cluster, error) {
	c := Cluster{Pod: pod, Now: time.Now()}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return Cluster{}, fmt.Errorf("list nodes: %w", err)
	}
	pods, err := kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return Cluster{}, fmt.Errorf("list pods: %w", err)
	}
	measured, err := latencies.List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Cluster{}, exit.Lacksf("the cluster has no NodeLatency objects: install nines in it (kubectl apply -k cluster/deploy)")
	case err != nil:
		return Cluster{}, fmt.Errorf("list what is measured: %w", err)
	}
	c.Nodes, c.Pods, c.Latencies = nodes.Items, pods.Items, measured.Items
	return c, nil
}
