package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func claimOf(uid string, results ...resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: results},
		}},
	}
}

func port(name string) resourcev1.DeviceRequestAllocationResult {
	return resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "n1", Device: name}
}

func TestADeviceThatTwoClaimsHaveIsFound(t *testing.T) {
	admin, share, elsewhere := port("port0"), port("port0"), port("port0")
	yes, id := true, types.UID("share")
	admin.AdminAccess, share.ShareID, elsewhere.Pool = &yes, &id, "n2"
	mine := claimOf("mine", port("port1"), port("port0"))
	for name, test := range map[string]struct {
		claim, other *resourcev1.ResourceClaim
		found        bool
	}{
		"the same device":       {mine, claimOf("other", port("port0")), true},
		"another device":        {mine, claimOf("other", port("port2")), false},
		"of another node":       {mine, claimOf("other", elsewhere), false},
		"administered":          {mine, claimOf("other", admin), false},
		"a share":               {mine, claimOf("other", share), false},
		"itself":                {mine, claimOf("mine", port("port0")), false},
		"not allocated":         {mine, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{UID: "other"}}, false},
		"it only administers":   {claimOf("mine", admin), claimOf("other", port("port0")), false},
		"it has none":           {claimOf("mine"), claimOf("other", port("port0")), false},
		"it has shares of them": {claimOf("mine", share), claimOf("other", share), false},
	} {
		device, other := shared(test.claim, []*resourcev1.ResourceClaim{test.other})
		if (other != nil) != test.found || test.found && device != "d/n1/port0" {
			t.Errorf("%s: %q, %v", name, device, other)
		}
	}
}

// Without a handle the plugin could not ask the API server.
func TestAPodWithoutDevicesCostsNothing(t *testing.T) {
	pod := podWith("a", nil)
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("4Mi"),
	}}}}
	if err := newPlugin(nil).ownDevices(t.Context(), pod); err != nil || asksForDevices(pod) {
		t.Errorf("it asks for devices: %v", err)
	}
	pod.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"example.org/port": resource.MustParse("1")}}}}
	if !asksForDevices(pod) {
		t.Error("a resource that can stand for a device is overlooked")
	}
}
