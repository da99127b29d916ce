package scheduler_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/test/labtest"
)

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

func pause(t *testing.T) {
	select {
	case <-t.Context().Done():
	case <-time.After(50 * time.Millisecond):
	}
}

// driver is who offers the devices of these tests.
const driver = "ports.nines.dev"

// devices has pods with a latency request and a claim of a device each, many more than devices, while
// the scheduler is killed. Kubernetes' own allocation counts the devices; the plugin only says
// which nodes are fast enough.
func (p plane) devices(t *testing.T) {
	pods, ports, clients, kills := 40, 6, 8, 3
	if labtest.Long() {
		pods, ports, clients, kills = 500, 50, 20, 10
	}
	const nodes = 2
	p.fastPortClass(t)
	// The third node has ports, too, and is too slow.
	for i := range nodes + 1 {
		p.fastPorts(t, "n"+strconv.Itoa(i), ports/nodes)
	}
	p.measure(t, "n0", figureOf("sriov", "", 50))
	p.measure(t, "n1", figureOf("sriov", "", 60))
	p.measure(t, "n2", figureOf("sriov", "", 600))
	p.flood(t, clients, pods, kills, func(i int) error { return p.podWithClaim(t.Context(), "p"+strconv.Itoa(i)) })
	p.settle(t, pods, ports, func(node string) int {
		if node == "n2" {
			return 0
		}
		return ports / nodes
	})
	p.eachDeviceOnce(t)
	p.clearClaims(t)
}

// alternatives has a pod without a latency request prefer the node with the port that its claim likes
// best, though nodes with anything fast are kept from ordinary pods. Without one that is free it takes the other.
func (p plane) alternatives(t *testing.T) {
	p.fastPortClass(t)
	p.fastPorts(t, "fast", 1)
	p.fastPorts(t, "fair", 2)
	p.measure(t, "fast", figureOf("sriov", "", 10))
	p.measure(t, "fair", figureOf("sriov", "", 900))
	p.seen(t)
	of := func(name, node string) resourcev1.DeviceSubRequest {
		return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: "fast-port", Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.attributes[%q].node == %q", driver, node)}},
		}}
	}
	for i, want := range []string{"fast", "fair"} {
		name := "a" + strconv.Itoa(i)
		err := p.claim(t.Context(), name, resourcev1.DeviceRequest{Name: "port", FirstAvailable: []resourcev1.DeviceSubRequest{of("fast", "fast"), of("fair", "fair")}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.podOf(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
		if pod := p.Bound(t, name); pod.Spec.NodeName != want {
			t.Errorf("pod %s is on node %s, want %s", name, pod.Spec.NodeName, want)
		}
	}
	p.clearClaims(t)
}

// vanishing has claims deleted while their pods are placed, figures that come and go, and a node
// that goes. Every pod ends bound or refused with a reason, and no device is in two claims.
func (p plane) vanishing(t *testing.T) {
	const pods, ports = 24, 6
	for _, node := range []string{"m0", "m1", "m2"} {
		p.fastPorts(t, node, ports/2)
		p.measure(t, node, figureOf("sriov", "", 50))
	}
	claims := p.Kube.ResourceV1().ResourceClaims("default")
	p.flood(t, 6, pods, 0, func(i int) error {
		name := "m" + strconv.Itoa(i)
		if err := p.podWithClaim(t.Context(), name); err != nil {
			return err
		}
		switch i % 6 {
		case 0, 3:
			return claims.Delete(t.Context(), name, metav1.DeleteOptions{})
		case 1:
			return p.publish(t.Context(), "m0", figureOf("sriov", "", 500))
		case 4:
			return p.publish(t.Context(), "m0", figureOf("sriov", "", 50))
		}
		return nil
	})
	if err := p.Kube.CoreV1().Nodes().Delete(t.Context(), "m2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.decided(t, pods, func(string) int { return ports / 2 })
	p.eachDeviceOnce(t)
	p.clearClaims(t)
}

// fastPort is the resource by which containers ask for a device of the class of these tests.
const fastPort = "example.org/fast-port"

// fastPortClass makes the class that the claims of these tests name, once.
func (p plane) fastPortClass(t *testing.T) {
	t.Helper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "fast-port"}, Spec: resourcev1.DeviceClassSpec{
		Selectors:            []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}}},
		ExtendedResourceName: new(fastPort),
	}}
	if _, err := p.Kube.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (p plane) fastPorts(t *testing.T, node string, ports int) {
	p.Node(t, node, nil)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for i := range ports {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: "port" + strconv.Itoa(i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"node": {StringValue: &node}},
		})
	}
	if _, err := p.Kube.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kube.ResourceV1().ResourceSlices().Delete(context.Background(), node, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// podWithClaim makes a pod that requests a latency, and claims a device.
func (p plane) podWithClaim(ctx context.Context, name string) error {
	return p.claimant(ctx, name, request("p99.99 < 100us"))
}

// claimant makes a pod with a claim of its own name.
func (p plane) claimant(ctx context.Context, name string, annotations map[string]string) error {
	if err := p.claim(ctx, name, onePort); err != nil {
		return err
	}
	return p.podOf(ctx, name, annotations)
}

// podOf makes a pod that has the claim of its name.
func (p plane) podOf(ctx context.Context, name string, annotations map[string]string) error {
	_, err := p.MakePod(ctx, name, annotations, func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "port", ResourceClaimName: &name}}
		pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "port"}}
	})
	return err
}

// onePort asks for any device.
var onePort = resourcev1.DeviceRequest{Name: "port", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "fast-port"}}

// claim makes a claim.
func (p plane) claim(ctx context.Context, name string, asks resourcev1.DeviceRequest) error {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{asks}},
	}}
	_, err := p.Kube.ResourceV1().ResourceClaims("default").Create(ctx, claim, metav1.CreateOptions{})
	return err
}

// eachDeviceOnce holds the claims against each other and against the pods.
func (p plane) eachDeviceOnce(t *testing.T) {
	t.Helper()
	claims, err := p.Kube.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node := map[string]string{}
	for _, pod := range p.pods(t) {
		node[pod.Name] = pod.Spec.NodeName
	}
	devices := claimsByDevice(claims.Items)
	for device, of := range devices {
		if len(of) > 1 {
			t.Errorf("device %s is in the claims %q", device, of)
		}
	}
	there := map[string]bool{}
	for _, claim := range claims.Items {
		there[claim.Name] = true
		if claim.Status.Allocation == nil {
			if node[claim.Name] != "" {
				t.Errorf("pod %s is bound, and its claim has no device", claim.Name)
			}
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if on := node[claim.Name]; on != "" && on != result.Pool {
				t.Errorf("pod %s is on node %s, and its device on %s", claim.Name, on, result.Pool)
			}
		}
	}
	for pod, on := range node {
		if on != "" && !there[pod] {
			t.Errorf("pod %s is bound, and its claim is gone", pod)
		}
	}
	t.Logf("%d devices are in %d claims", len(devices), len(claims.Items))
}
