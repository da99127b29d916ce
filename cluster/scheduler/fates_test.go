package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/scheduler/controltest"
)

// fates count what became of pods.
type fates struct {
	// bound have a node, and refused were told why not, or lack their claim.
	bound, refused int
	// double are the pods of a node beyond the ports that it has, and the devices that several bound pods
	// have by their claims.
	double int
	// lost are of those that were made neither bound nor refused: nobody is about to do anything for them.
	lost int
}

func (f fates) String() string {
	return fmt.Sprintf("bound %d, refused %d, double %d, lost %d", f.bound, f.refused, f.double, f.lost)
}

// fates are those of as many pods. most is how many pods a node has ports for.
func (p plane) fates(ctx context.Context, pods int, most func(node string) int) (f fates, err error) {
	made, err := p.Kube.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return f, err
	}
	claims, err := p.Kube.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return f, err
	}
	each, bound := map[string]int{}, map[string]bool{}
	for i := range made.Items {
		switch pod := &made.Items[i]; {
		case pod.Spec.NodeName != "":
			f.bound++
			bound[pod.Name] = true
			each[pod.Spec.NodeName]++
		// Kubernetes does not always say so of a pod whose claim was gone before its turn: it does not queue it
		// (PreEnqueue of its plugin DynamicResources).
		case controltest.Why(pod) != "" || lacksClaim(pod, claims.Items):
			f.refused++
		}
	}
	f.lost = pods - f.bound - f.refused
	for node, n := range each {
		f.double += max(0, n-most(node))
	}
	for _, of := range claimsByDevice(claims.Items) {
		// A claim of a pod that is not bound may have it for a moment, until it gives it back.
		of = slices.DeleteFunc(of, func(claim string) bool { return !bound[claim] }) // they have the same name
		f.double += max(0, len(of)-1)
	}
	return f, nil
}

func lacksClaim(pod *corev1.Pod, claims []resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(asked corev1.PodResourceClaim) bool {
		return asked.ResourceClaimName != nil &&
			!slices.ContainsFunc(claims, func(c resourcev1.ResourceClaim) bool { return c.Name == *asked.ResourceClaimName })
	})
}

// claimsByDevice are the names of the claims that have each device.
func claimsByDevice(claims []resourcev1.ResourceClaim) map[string][]string {
	devices := map[string][]string{}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			device := result.Pool + "/" + result.Device
			devices[device] = append(devices[device], claim.Name)
		}
	}
	return devices
}

// settle waits until as many pods are bound as there is room for, and all others are refused.
func (p plane) settle(t *testing.T, pods, room int, most func(node string) int) {
	t.Helper()
	p.await(t, pods, most, func(now fates) bool { return now.bound == min(room, pods) })
}

// settled tells what is missing until that is so.
func (p plane) settled(ctx context.Context, pods, room int, most func(node string) int) error {
	now, err := p.fates(ctx, pods, most)
	if err == nil && (now.lost != 0 || now.bound != min(room, pods)) {
		err = errors.New(now.String())
	}
	return err
}

// decided waits until each pod is bound or refused.
func (p plane) decided(t *testing.T, pods int, most func(node string) int) {
	t.Helper()
	p.await(t, pods, most, func(fates) bool { return true })
}

// await waits until none of the pods is lost, and their fates are so. It fails at once when something was
// given twice.
func (p plane) await(t *testing.T, pods int, most func(node string) int, so func(fates) bool) {
	t.Helper()
	var now fates
	controltest.Eventually(t, fmt.Sprintf("%d pods have found their fate", pods), func(ctx context.Context) (err error) {
		if now, err = p.fates(ctx, pods, most); err != nil {
			return err
		}
		if now.double > 0 {
			p.eachDeviceOnce(t) // or which it is in
			t.Fatal(now)
		}
		if now.lost != 0 || !so(now) {
			return errors.New(now.String())
		}
		return nil
	})
	t.Log(now)
}

// countsFates has by hand what no scheduler may do: what these tests hold to be zero would be seen if it were
// not.
func (p plane) countsFates(t *testing.T) {
	defer p.Clear(t)
	defer p.clearClaims(t)
	p.fastPortClass(t)
	for _, node := range []string{"n1", "n2"} {
		p.Node(t, node, nil)
	}
	bind := func(pod, node, device string) {
		t.Helper()
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		err := p.Kube.CoreV1().Pods("default").Bind(t.Context(), binding, metav1.CreateOptions{})
		if err := errors.Join(err, p.allocate(t.Context(), pod, node, device)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c", "waits", "without"} {
		if err := p.podWithClaim(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	bind("a", "n1", "port0")
	bind("b", "n1", "port0")
	bind("c", "n2", "port0")
	if err := p.Kube.ResourceV1().ResourceClaims("default").Delete(t.Context(), "without", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := p.fates(t.Context(), 6, func(node string) int { return map[string]int{"n1": 1, "n2": 1}[node] })
	// One pod more than ports of n1, and its device twice; one pod waits, and one was never made.
	if want := (fates{bound: 3, refused: 1, double: 2, lost: 2}); err != nil || got != want {
		t.Errorf("counted is %s, %v, want %s", got, err, want)
	}
}
