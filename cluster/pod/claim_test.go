package pod

import (
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

var twoPorts = []plan.PodPort{{Link: "fast", Interface: "fast0", Class: "macvlan.nines.dev"}, {Link: "far", Interface: "far.1", Class: "ovn.nines.dev"}}

// TestAClaimGoesWithItsPod: the cluster deletes what has lost its owner.
func TestAClaimGoesWithItsPod(t *testing.T) {
	o := order()
	if pod := manifest(t, o); len(pod.Spec.ResourceClaims) > 0 || len(pod.Spec.Containers[0].Resources.Claims) > 0 {
		t.Error("a pod without ports has a claim")
	}
	o.Ports = twoPorts
	pod := manifest(t, o)
	pod.UID = "u1"
	claim, err := ClaimOf(o, pod)
	if err != nil {
		t.Fatal(err)
	}
	if len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].UID != "u1" || claim.OwnerReferences[0].Kind != "Pod" {
		t.Errorf("its owners are %+v", claim.OwnerReferences)
	}
	asked := pod.Spec.ResourceClaims
	if len(asked) != 1 || *asked[0].ResourceClaimName != claim.Name || !strings.Contains(claim.Name, o.Token()) || pod.Spec.Containers[0].Resources.Claims[0].Name != asked[0].Name {
		t.Errorf("the pod asks for %+v, and the claim is %s", asked, claim.Name)
	}
	for i, r := range claim.Spec.Devices.Requests {
		config := claim.Spec.Devices.Config[i]
		if r.Exactly.DeviceClassName != twoPorts[i].Class || config.Requests[0] != r.Name || !strings.Contains(string(config.Opaque.Parameters.Raw), `"interface":"`+twoPorts[i].Interface+`"`) {
			t.Errorf("request %d is %+v, %s", i, r, config.Opaque.Parameters.Raw)
		}
	}
}

// TestWhatAPodGot reads it from the claim, whichever driver wrote that.
func TestWhatAPodGot(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	untold := func(what, link string) {
		t.Helper()
		_, err := portsIn(claim, twoPorts)
		if err == nil || !strings.HasPrefix(err.Error(), "link "+link+": the driver of class ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	untold("nothing is allocated", "fast")
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "port1", Driver: "ports.nines.dev", Pool: "n1", Device: "ovn-lan-1"},
		{Request: "port0", Driver: "dra.net", Pool: "n1", Device: "eth1"},
	}}}
	untold("no driver has said anything", "fast")
	claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{
		{Driver: "ports.nines.dev", Pool: "n1", Device: "ovn-lan-1", NetworkData: &resourcev1.NetworkDeviceData{InterfaceName: "far.1", IPs: []string{"fd00::9/64"}}},
		{Driver: "dra.net", Pool: "n1", Device: "eth1", NetworkData: &resourcev1.NetworkDeviceData{InterfaceName: "fast0", IPs: []string{"fd00::1/64", "10.7.0.11/24"}}},
		{Driver: "ports.nines.dev", Pool: "n2", Device: "ovn-lan-1", NetworkData: &resourcev1.NetworkDeviceData{IPs: []string{"10.9.0.99/24"}}},
	}
	untold("one port has no IPv4 address", "far")
	claim.Status.Devices[0].NetworkData.IPs = []string{"10.9.0.12/24"}
	ports, err := portsIn(claim, twoPorts)
	if err != nil || ports["fast0"].Address != "10.7.0.11" || ports["fast0"].Device != "dra.net/n1/eth1" || ports["far.1"].Address != "10.9.0.12" {
		t.Errorf("the ports are %+v, %v", ports, err)
	}
}

// TestWhichSocketAPodGot: DPDK needs one, and nothing else can use one.
func TestWhichSocketAPodGot(t *testing.T) {
	socket := []plan.PodPort{{Link: "fast", Interface: "fast0", Class: "switch.nines.dev", Socket: true, MAC: "02:00:00:00:00:01"}}
	o := order()
	o.Ports = socket
	claim, err := ClaimOf(o, manifest(t, o))
	if err != nil || !strings.Contains(string(claim.Spec.Devices.Config[0].Opaque.Parameters.Raw), `"mac":"02:00:00:00:00:01"`) {
		t.Fatalf("it asks for %+v, %v", claim, err)
	}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "port0", Driver: "ports.nines.dev", Pool: "n1", Device: "switch-0"},
	}}}
	reported := func(ports []plan.PodPort, data string) (node.ClaimedPort, error) {
		claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "ports.nines.dev", Pool: "n1", Device: "switch-0", Data: &runtime.RawExtension{Raw: []byte(data)}}}
		found, err := portsIn(claim, ports)
		return found["fast0"], err
	}
	for data, want := range map[string]node.ClaimedPort{
		`{"tier": "switch", "kind": "vhost-user", "socket": "/run/s", "local": true}`:                  {Socket: "/run/s", Local: true, MTU: 1500, Device: "ports.nines.dev/n1/switch-0"},
		`{"tier": "ovs-dpdk", "kind": "vhost-user", "socket": "/run/s", "listens": true, "mtu": 9000}`: {Socket: "/run/s", Listens: true, MTU: 9000, Device: "ports.nines.dev/n1/switch-0"},
	} {
		if got, err := reported(socket, data); err != nil || got != want {
			t.Errorf("%s: %+v, %v", data, got, err)
		}
	}
	polled := []plan.PodPort{{Link: "fast", Interface: "fast0", Class: "af-xdp.nines.dev", SocketMap: true, MAC: "02:00:00:00:00:01"}}
	mapped := node.ClaimedPort{SocketMap: "/run/m", Local: true, Device: "ports.nines.dev/n1/switch-0"}
	if got, err := reported(polled, `{"tier": "xdp", "kind": "interface", "interface": "fast0", "socketMap": "/run/m", "local": true}`); err != nil || got != mapped {
		t.Errorf("for AF_XDP: %+v, %v", got, err)
	}
	for _, c := range []struct {
		ports      []plan.PodPort
		data, says string
	}{
		{polled, `{"tier": "xdp", "kind": "interface", "interface": "fast0"}`, "needs a class of maps for AF_XDP sockets"},
		{polled, `{"tier": "switch", "kind": "vhost-user", "socket": "/run/s"}`, "needs a class of maps for AF_XDP sockets"},
		{socket, `{"tier": "memif", "kind": "memif", "socket": "/run/s"}`, "needs a class of vhost-user sockets"},
		{socket, `{"tier": "macvlan", "kind": "interface"}`, "needs a class of vhost-user sockets"},
		{[]plan.PodPort{{Interface: "fast0", Class: "switch.nines.dev"}}, `{"tier": "switch", "kind": "vhost-user", "socket": "/run/s"}`, "only the backend dpdk opens"},
	} {
		if _, err := reported(c.ports, c.data); err == nil || exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.data, err)
		}
	}
}

// TestOnlyAClassThatIsNotThereIsLacking: one that nines may not look at may be there.
func TestOnlyAClassThatIsNotThereIsLacking(t *testing.T) {
	kube := fake.NewClientset(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "macvlan.nines.dev"}})
	kube.PrependReactor("get", "deviceclasses", func(action ktesting.Action) (bool, runtime.Object, error) {
		name := action.(ktesting.GetAction).GetName()
		if name != "secret" {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(resourcev1.Resource("deviceclasses"), name, nil)
	})
	c := &Client{kube: kube}
	if lacks := c.Lacks(t.Context(), []string{"macvlan.nines.dev", "secret", "none.nines.dev"}); !slices.Equal(lacks, []string{"none.nines.dev"}) {
		t.Errorf("it lacks %q", lacks)
	}
}
