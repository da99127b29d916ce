package diagnosis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	driver   = "ports.nines.dev"
	fast     = `device.attributes["nines.dev"].?p9999Ns.orValue(1000000000) <= 100000`
	macvlans = `device.driver == "ports.nines.dev" && device.attributes["nines.dev"].tier == "macvlan"`
)

func selectors(expressions ...string) (list []resourcev1.DeviceSelector) {
	for _, e := range expressions {
		list = append(list, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return list
}

// offers is a node's slice with devices of a tier, each with its p99.99 in ns; 0 for none.
func offers(node, tier string, p9999 ...int64) resourcev1.ResourceSlice {
	s := resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 2},
	}}
	for i, ns := range p9999 {
		d := resourcev1.Device{Name: fmt.Sprintf("%s-%d", tier, i+1), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"nines.dev/tier": {StringValue: &tier},
		}}
		if ns > 0 {
			d.Attributes["nines.dev/p9999Ns"] = resourcev1.DeviceAttribute{IntValue: &ns}
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	return s
}

// claim is one of the namespace default; change says what it asks for, or has.
func claim(name string, change func(*resourcev1.ResourceClaim)) resourcev1.ResourceClaim {
	c := resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	change(&c)
	return c
}

// has gives a claim a device of a node, and pods.
func has(c *resourcev1.ResourceClaim, request, node, device string, pods ...string) {
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: request, Driver: driver, Pool: node, Device: device}},
	}}
	for _, pod := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod})
	}
}

func TestWhatNodesHaveForAPodsClaims(t *testing.T) {
	net, socket, one, gone := "p-net-x", "socket", "one-template", "gone"
	p := pod(nil, "1")
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{
		{Name: "net", ResourceClaimTemplateName: &one}, {Name: "socket", ResourceClaimName: &socket},
		{Name: "unmade", ResourceClaimTemplateName: &one}, {Name: "gone", ResourceClaimName: &gone},
	}
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "net", ResourceClaimName: &net}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "cannot allocate all claims"}}
	old := offers("n3", "macvlan", 1, 1)
	old.Spec.Pool.Generation = 1
	report := Of(Cluster{
		Now: now, Pod: p, Nodes: []corev1.Node{node("n1"), node("n2"), node("n3")},
		Devices: Devices{
			Classes: []resourcev1.DeviceClass{
				{ObjectMeta: metav1.ObjectMeta{Name: "macvlan.nines.dev"}, Spec: resourcev1.DeviceClassSpec{Selectors: selectors(macvlans)}},
			},
			Slices: []resourcev1.ResourceSlice{offers("n1", "macvlan", 50_000, 50_000, 150_000, 0), offers("n2", "macvlan", 90_000), offers("n3", "switch", 9000), old},
			Claims: []resourcev1.ResourceClaim{
				claim(net, func(c *resourcev1.ResourceClaim) {
					c.Spec.Devices.Requests = []resourcev1.DeviceRequest{
						{Name: "port", FirstAvailable: []resourcev1.DeviceSubRequest{
							{Name: "fast", DeviceClassName: "macvlan.nines.dev", Selectors: selectors(fast), Count: 2},
							{Name: "any", DeviceClassName: "typo", Count: 1},
						}},
					}
				}),
				claim(socket, func(c *resourcev1.ResourceClaim) {
					c.Spec.Devices.Requests = []resourcev1.DeviceRequest{
						{Name: "user", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a", DeviceClassName: "typo"}, {Name: "b", DeviceClassName: "switch.nines.dev", Count: 1}}},
					}
					has(c, "user/b", "n3", "switch-1", "p")
				}),
				claim("of-a", func(c *resourcev1.ResourceClaim) { has(c, "r", "n1", "macvlan-1", "a") }),
				claim("of-nobody", func(c *resourcev1.ResourceClaim) { has(c, "r", "n1", "macvlan-2") }),
			},
		},
	})
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `pod default/p
It has no latency request, and a claim with alternatives: Kubernetes chooses its node by these.
the scheduler said last: cannot allocate all claims

claim net (p-net-x)
request port/fast: 2 of class macvlan.nines.dev
  where device.attributes["nines.dev"].?p9999Ns.orValue(1000000000) <= 100000
node  devices  taken  suit  obstacles
n2          1      0     1
n1          4      2     0  2 taken by claim default/of-nobody, default/a; 1 without nines.dev/p9999Ns; 1 with other values
n3          0      0     0  it offers none of this class
request port/any: 1 of class typo
  class typo does not exist; kubectl get deviceclasses lists the classes

claim socket (socket)
request user/b: 1 of class switch.nines.dev
  it has switch-1 of node n3

claim unmade
Kubernetes has not made it from the template one-template yet: check that the template exists (kubectl get resourceclaimtemplates --namespace default)

claim gone (gone)
it does not exist: create it, or name another in the pod
`
	if got, want := strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(want), " "); got != want {
		t.Errorf("it says\n%s", out.String())
	}
	// Programs find the same.
	text, err := json.Marshal(report.Claims[0].Requests[0].Nodes[1])
	if want := `{"node":"n1","devices":4,"taken":2,"takenBy":["claim default/of-nobody","default/a"],"suit":0,` +
		`"unsuited":[{"selector":"device.attributes[\"nines.dev\"].?p9999Ns.orValue(1000000000) \u003c= 100000","lacks":{"nines.dev/p9999Ns":1},"other":1}]}`; err != nil || string(text) != want {
		t.Errorf("as JSON it is\n%s, %v", text, err)
	}
}

// TestWhatIsShortIsTold: of a device that several share, and of what devices draw from together.
func TestWhatIsShortIsTold(t *testing.T) {
	amounts := func(mbit string) map[resourcev1.QualifiedName]resource.Quantity {
		return map[resourcev1.QualifiedName]resource.Quantity{"nines.dev/mbit": resource.MustParse(mbit)}
	}
	yes, gone := true, "of-p"
	n1, n2 := offers("n1", "bridge", 0), offers("n2", "macvlan", 0, 0, 0)
	half := resource.MustParse("500")
	n1.Spec.Devices[0].AllowMultipleAllocations = &yes
	n1.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
		"nines.dev/mbit": {Value: resource.MustParse("1k"), RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: &half}},
	}
	sets := offers("n2", "macvlan")
	sets.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "link-eth0", Counters: map[string]resourcev1.Counter{"mbit": {Value: resource.MustParse("1000")}}}}
	for i := range n2.Spec.Devices {
		d := &n2.Spec.Devices[i]
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"nines.dev/mbit": {Value: resource.MustParse("600")}}
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "link-eth0", Counters: map[string]resourcev1.Counter{"mbit": {Value: resource.MustParse("600")}}}}
	}
	for what, wanted := range map[string]struct {
		request resourcev1.ExactDeviceRequest
		says    string
	}{
		"a part": {resourcev1.ExactDeviceRequest{Capacity: &resourcev1.CapacityRequirements{Requests: amounts("400")}}, `with 400 nines.dev/mbit
node devices taken suit obstacles
n2 3 1 0 1 taken by default/b; 2 take 600 mbit of link-eth0, of which 400 of 1k is free; the rest is held by default/b
n1 1 0 0 1 takes 400 nines.dev/mbit of bridge-1, of which 300 of 1k is free; the rest is held by default/a`},
		"the default": {resourcev1.ExactDeviceRequest{}, `n1 1 0 0 1 takes 500 nines.dev/mbit of bridge-1, of which`},
		"too much":    {resourcev1.ExactDeviceRequest{Capacity: &resourcev1.CapacityRequirements{Requests: amounts("700")}}, "2 with 600 of nines.dev/mbit, and the request is for 700"},
		"what none has": {resourcev1.ExactDeviceRequest{Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
			"nines.dev/pps": half,
		}}}, "1 without nines.dev/pps"},
		"to administer": {resourcev1.ExactDeviceRequest{AdminAccess: &yes}, `with admin access: it takes no device from others
node devices taken suit obstacles
n2 3 0 3
n1 1 0 1`},
	} {
		p := pod(nil, "1")
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "net", ResourceClaimName: &gone}}
		wanted.request.DeviceClassName, wanted.request.Count = "any", 1
		report := Of(Cluster{Now: now, Pod: p, Nodes: []corev1.Node{node("n1"), node("n2")}, Devices: Devices{
			Classes: []resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "any"}}},
			Slices:  []resourcev1.ResourceSlice{n1, n2, sets},
			Claims: []resourcev1.ResourceClaim{
				claim(gone, func(c *resourcev1.ResourceClaim) {
					c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &wanted.request}}
				}),
				claim("of-a", func(c *resourcev1.ResourceClaim) {
					has(c, "r", "n1", "bridge-1", "a")
					c.Status.Allocation.Devices.Results[0].ShareID = new(types.UID)
					c.Status.Allocation.Devices.Results[0].ConsumedCapacity = amounts("700")
				}),
				claim("of-b", func(c *resourcev1.ResourceClaim) { has(c, "r", "n2", "macvlan-2", "b") }),
				claim("of-m", func(c *resourcev1.ResourceClaim) {
					has(c, "r", "n2", "macvlan-1", "meter")
					c.Status.Allocation.Devices.Results[0].AdminAccess = &yes
				}),
			},
		}})
		var out bytes.Buffer
		if err := report.Write(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(wanted.says), " ")) {
			t.Errorf("%s: it says\n%s", what, out.String())
		}
	}
}

func TestASelectorThatIsWrongIsTold(t *testing.T) {
	name := "it"
	p := pod(nil, "1")
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "net", ResourceClaimName: &name}}
	report := Of(Cluster{Now: now, Pod: p, Nodes: []corev1.Node{node("n1")}, Devices: Devices{
		Classes: []resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "any"}}},
		Slices:  []resourcev1.ResourceSlice{offers("n1", "macvlan", 1)},
		Claims: []resourcev1.ResourceClaim{claim(name, func(c *resourcev1.ResourceClaim) {
			for request, expression := range map[string]string{"wrong": "device.", "missing": `device.attributes["nines.dev"].mtu > 1`} {
				c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourcev1.DeviceRequest{
					Name: request, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "any", Selectors: selectors(expression), AllocationMode: resourcev1.DeviceAllocationModeAll},
				})
			}
		})},
	}})
	for _, r := range report.Claims[0].Requests {
		switch r.Name {
		case "wrong":
			if !strings.Contains(r.Problem, "invalid selector device.") {
				t.Errorf("%+v", r)
			}
		case "missing": // it has no value, and the scheduler takes no such device
			if n := r.Nodes[0]; n.Suit != 0 || n.Unsuited[0].Lacks["nines.dev/mtu"] != 1 {
				t.Errorf("%+v", r)
			}
		}
	}
}
