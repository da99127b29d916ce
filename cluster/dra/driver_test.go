package dra

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdi "tags.cncf.io/container-device-interface/specs-go"

	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"

	"nines.dev/nines/cluster/port"
)

// claim makes an allocated claim of a pod: "REQUEST=DEVICE" each.
func claim(uid, pod string, devices ...string) *resource.ResourceClaim {
	c := &resource.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim-" + uid, UID: types.UID(uid)},
		Status:     resource.ResourceClaimStatus{Allocation: &resource.AllocationResult{}},
	}
	if pod != "" {
		c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: types.UID("uid-" + pod)}}
	}
	for _, d := range devices {
		request, device, _ := strings.Cut(d, "=")
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resource.DeviceRequestAllocationResult{Request: request, Driver: DriverName, Pool: "n1", Device: device})
	}
	return c
}

// alsoOf gives another pod the same claim.
func alsoOf(c *resource.ResourceClaim, pod string) *resource.ResourceClaim {
	c.Status.ReservedFor = append(c.Status.ReservedFor, claim("", pod).Status.ReservedFor...)
	return c
}

// says adds parameters for requests.
func says(c *resource.ResourceClaim, parameters string, requests ...string) *resource.ResourceClaim {
	c.Status.Allocation.Devices.Config = append(c.Status.Allocation.Devices.Config, resource.DeviceAllocationConfiguration{
		Requests: requests, DeviceConfiguration: resource.DeviceConfiguration{Opaque: &resource.OpaqueDeviceConfiguration{
			Driver: DriverName, Parameters: runtime.RawExtension{Raw: []byte(parameters)},
		}},
	})
	return c
}

// administers has a claim administer its devices.
func administers(c *resource.ResourceClaim) *resource.ResourceClaim {
	yes := true
	for i := range c.Status.Allocation.Devices.Results {
		c.Status.Allocation.Devices.Results[i].AdminAccess = &yes
	}
	return c
}

// sharing gives a claim shares of its devices, by their IDs, with a bandwidth.
func sharing(c *resource.ResourceClaim, mbit int64, ids ...types.UID) *resource.ResourceClaim {
	for i, id := range ids {
		c.Status.Allocation.Devices.Results[i].ShareID = &id
		c.Status.Allocation.Devices.Results[i].ConsumedCapacity = map[resource.QualifiedName]quantity.Quantity{capacityMbit: amount(mbit)}
	}
	return c
}

const head = `"apiVersion":"ports.nines.dev/v1alpha1","kind":"PortConfig"`

func ports(t *testing.T) Inventory {
	t.Helper()
	inv, err := inventory(t, "ports: [{tier: macvlan, parent: eth0, count: 4, addresses: 10.0.0.1/24}, {tier: switch, count: 3}, {tier: sriov, parent: eth1, count: 1, driver: vfio-pci}, {tier: sriov, parent: eth1, first: 2, count: 1, vlan: 7, vlans: [8, 9]}, {tier: memif, count: 1}, {tier: bridge, parent: br0, count: 2, addresses: 10.1.0.1/24, shared: {mbit: 1000}}]", "n1")
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func TestPortsOfAPodHaveNamesOfTheirOwn(t *testing.T) {
	inv := ports(t)
	c := says(claim("a", "p", "fast=macvlan-eth0-1", "fast=macvlan-eth0-2", "v=switch-1", "v=switch-2"),
		`{`+head+`,"addresses":["10.9.0.1/24"],"routes":[{"to":"0.0.0.0/0","via":"10.9.0.254"}]}`, "fast")
	orders, err := Orders(c, inv, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range orders {
		names = append(names, o.Interface+o.Mount)
	}
	if got := strings.Join(names, " "); got != "net1 net2 /run/nines/ports/v /run/nines/ports/v-2" {
		t.Errorf("named %s", got)
	}
	if o := orders[0]; o.Holder != "a" || o.Pod.UID != "uid-p" || o.Claim != "default/claim-a" || len(o.Routes) != 1 || o.All()[0].String() != "10.9.0.1/24" {
		t.Errorf("%+v", o)
	}
	// Another claim of the pod, and the same again after a restart.
	held := []port.Held{{Order: orders[0]}, {Order: orders[1]}, {Order: orders[2]}}
	more, err := Orders(claim("b", "p", "fast=macvlan-eth0-3", "v=switch-3"), inv, held)
	if err != nil || more[0].Interface != "net3" || more[1].Mount != "/run/nines/ports/v-2" {
		t.Errorf("%+v, %v", more, err)
	}
	again, err := Orders(c, inv, held)
	if err != nil || again[0].Interface != "net1" || again[1].Interface != "net2" || again[2].Mount != orders[2].Mount {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestOnlyMemoryIsForSeveralPods(t *testing.T) {
	orders, err := Orders(alsoOf(claim("a", "p", "m=memif-1"), "q"), ports(t), nil)
	if err != nil || len(orders) != 1 || orders[0].Pod.UID != "" || orders[0].Mount != "/run/nines/shared/claim-a" {
		t.Errorf("%+v, %v", orders, err)
	}
}

func TestAClaimChoosesAmongTheVLANsOfItsPort(t *testing.T) {
	c := claim("a", "p", "r=sriov-eth1-2")
	for want, parameters := range map[int]string{7: `{` + head + `}`, 8: `{` + head + `,"vlan":8}`, 9: `{` + head + `,"vlan":9}`} {
		c.Status.Allocation.Devices.Config = nil
		orders, err := Orders(says(c, parameters), ports(t), nil)
		if err != nil || orders[0].Port.VLAN != want || orders[0].Port.Function != 1 || orders[0].Interface != "net1" {
			t.Errorf("%s: %+v, %v", parameters, orders, err)
		}
	}
}

func TestTheClaimOutranksItsClass(t *testing.T) {
	c := claim("a", "p", "r/second=macvlan-eth0-1")
	says(c, `{`+head+`,"interface":"class0","mac":"02:00:00:00:00:01"}`)
	says(c, `{`+head+`,"interface":"claim0"}`, "r")
	says(c, `{`+head+`,"interface":"other0"}`, "another")
	orders, err := Orders(c, ports(t), nil)
	if err != nil || orders[0].Interface != "claim0" || orders[0].MAC != "02:00:00:00:00:01" {
		t.Errorf("%+v, %v", orders, err)
	}
}

func TestAClaimThatCannotBeIsRefusedWithARemedy(t *testing.T) {
	for words, c := range map[string]*resource.ResourceClaim{
		"no longer has port macvlan-eth0-9":           claim("a", "p", "r=macvlan-eth0-9"),
		"a port of macvlan belongs to one pod":        claim("a", "", "r=macvlan-eth0-1"),
		"a port of switch belongs to one pod":         alsoOf(claim("a", "p", "r=switch-1"), "q"),
		"a port of sriov belongs to one pod":          alsoOf(claim("a", "p", "r=sriov-eth1-1"), "q"),
		"allowed: kind PortConfig":                    says(claim("a", "p", "r=macvlan-eth0-1"), `{"apiVersion":"v1","kind":"Pod"}`),
		"unknown field \"inteface\"":                  says(claim("a", "p", "r=macvlan-eth0-1"), `{`+head+`,"inteface":"x"}`),
		"cannot be the name of an interface":          says(claim("a", "p", "r=macvlan-eth0-1"), `{`+head+`,"interface":"../x"}`),
		"the absolute path of a folder":               says(claim("a", "p", "r=switch-1"), `{`+head+`,"mount":"/etc/../x"}`),
		"choose a shorter folder in the pod":          says(claim("a", "p", "r=switch-1"), `{`+head+`,"mount":"/`+strings.Repeat("m", 105)+`"}`),
		"kernel allows 107 (unix(7))":                 claim("a", "p", strings.Repeat("r", 100)+"=switch-1"),
		"already has another port with the name net1": says(claim("a", "p", "r=macvlan-eth0-1", "r=macvlan-eth0-2"), `{`+head+`,"interface":"net1"}`),
		"port of sriov has no room":                   administers(claim("a", "p", "r=sriov-eth1-1")),
		"allowed: [8 9]":                              says(claim("a", "p", "r=sriov-eth1-2"), `{`+head+`,"vlan":10}`),
		"remove vlan from the claim":                  says(claim("a", "p", "r=sriov-eth1-1"), `{`+head+`,"vlan":8}`),
		"port of memif has no room":                   administers(claim("a", "p", "r=memif-1")),
		"the scheduler has allocated no share of":     claim("a", "p", "r=bridge-br0"),
	} {
		if orders, err := Orders(c, ports(t), nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v, %v, which does not say %q", orders, err, words)
		}
	}
}

// TestSharesOfADeviceArePortsOfTheirOwn, each with an address that no other has.
func TestSharesOfADeviceArePortsOfTheirOwn(t *testing.T) {
	const first, second, third = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555", "31111111-2222-4333-8444-555555555555"
	d := newDriver(t)
	a := sharing(claim("a", "p", "x=bridge-br0"), 300, first)
	for range 2 {
		r := d.prepare(t, a)["a"]
		if r.Err != nil || r.Devices[0].DeviceName != "bridge-br0" || string(*r.Devices[0].ShareID) != first {
			t.Fatalf("%+v", r)
		}
	}
	if r := d.prepare(t, sharing(claim("b", "q", "x=bridge-br0"), 700, second))["b"]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if r := d.prepare(t, sharing(claim("c", "r", "x=bridge-br0"), 1, third))["c"]; r.Err == nil || !strings.Contains(r.Err.Error(), "all its 2 addresses are held") {
		t.Errorf("a third: %+v", r)
	}
	held, err := d.Keeper.Held()
	if err != nil || len(held) != 2 {
		t.Fatalf("%+v, %v", held, err)
	}
	for i, want := range []string{"bridge-br0-111111112222 10.1.0.1/24 300", "bridge-br0-211111112222 10.1.0.2/24 700"} {
		if s := held[i].Seen(); fmt.Sprint(s.Port, " ", s.Addresses[0], " ", s.Mbit) != want {
			t.Errorf("it sees %+v, not %s", s, want)
		}
	}
	if _, err := d.UnprepareResourceClaims(t.Context(), []kubeletplugin.NamespacedObject{{UID: "a"}}); err != nil {
		t.Fatal(err)
	}
	if r := d.prepare(t, sharing(claim("c", "r", "x=bridge-br0"), 1, third))["c"]; r.Err != nil {
		t.Errorf("a third, with one gone: %v", r.Err)
	}
}

// TestWhoAdministersAPortGetsOneBesideIt, and takes it from nobody.
func TestWhoAdministersAPortGetsOneBesideIt(t *testing.T) {
	d := newDriver(t)
	admin := administers(claim("m", "meter", "x=macvlan-eth0-1", "y=bridge-br0"))
	for range 2 {
		results := d.prepare(t, claim("a", "p", "x=macvlan-eth0-1"), admin)
		if results["a"].Err != nil || results["m"].Err != nil || results["m"].Devices[0].DeviceName != "macvlan-eth0-1" || results["m"].Devices[1].DeviceName != "bridge-br0" {
			t.Fatalf("%+v", results)
		}
	}
	held, err := d.Keeper.Held()
	if err != nil || len(held) != 3 {
		t.Fatalf("%+v, %v", held, err)
	}
	for _, h := range held {
		if h.Holder == "m" && (len(h.All()) > 0 || !strings.HasPrefix(h.Port.Name, "own-") || h.Interface == "") {
			t.Errorf("who administers has %+v", h)
		}
		if h.Holder == "a" && h.Port.Name != "macvlan-eth0-1" {
			t.Errorf("who has the port has %+v", h)
		}
	}
}

func newDriver(t *testing.T) *Driver {
	t.Helper()
	folder := t.TempDir()
	d := &Driver{Node: "n1", Keeper: port.Keeper{Folder: filepath.Join(folder, "ports")}, CDI: filepath.Join(folder, "cdi"), Events: &record.FakeRecorder{}}
	d.Exists = func(context.Context, string, string) (bool, error) { return true, nil }
	d.Offer(ports(t))
	return d
}

func (d *Driver) prepare(t *testing.T, claims ...*resource.ResourceClaim) map[types.UID]kubeletplugin.PrepareResult {
	t.Helper()
	results, err := d.PrepareResourceClaims(t.Context(), claims)
	if err != nil || len(results) != len(claims) {
		t.Fatalf("%v, %v", results, err)
	}
	return results
}

func TestAClaimIsPreparedAndGivenBackAnyNumberOfTimes(t *testing.T) {
	d := newDriver(t)
	first, second := claim("a", "p", "x=macvlan-eth0-1"), claim("b", "p", "y=macvlan-eth0-2")
	for range 3 {
		results := d.prepare(t, first, second)
		if r := results["a"]; r.Err != nil || len(r.Devices) != 1 || r.Devices[0].PoolName != "n1" || r.Devices[0].CDIDeviceIDs[0] != "nines.dev/port=a_macvlan-eth0-1" {
			t.Fatalf("%+v", r)
		}
	}
	var spec cdi.Spec
	readJSON(t, d.cdiPath("b"), &spec)
	if len(spec.Devices) != 1 || spec.Devices[0].ContainerEdits.Mounts[0].ContainerPath != port.PortsFile {
		t.Fatalf("%+v", spec)
	}
	var seen struct{ Ports []port.Seen }
	readJSON(t, spec.Devices[0].ContainerEdits.Mounts[0].HostPath, &seen)
	if len(seen.Ports) != 2 || seen.Ports[1].Interface != "net2" || seen.Ports[1].Addresses[0] != "10.0.0.2/24" || seen.Ports[1].Request != "y" {
		t.Errorf("the pod sees %+v", seen)
	}
	// Another pod's claim on a device that is taken, as of a scheduler that is wrong.
	if r := d.prepare(t, claim("c", "q", "x=macvlan-eth0-1"))["c"]; r.Err == nil || !strings.Contains(r.Err.Error(), "is held by a for pod default/p") {
		t.Errorf("given twice: %+v", r)
	}
	for range 2 {
		results, err := d.UnprepareResourceClaims(t.Context(), []kubeletplugin.NamespacedObject{{UID: "a"}, {UID: "b"}, {UID: "c"}})
		if err != nil || len(results) != 3 || results["a"] != nil || results["b"] != nil || results["c"] != nil {
			t.Fatalf("%v, %v", results, err)
		}
	}
	for _, folder := range []string{d.Keeper.Folder, d.CDI} {
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", folder, left, err)
		}
	}
}

func TestOneClaimThatFailsLeavesTheOthers(t *testing.T) {
	d := newDriver(t)
	results := d.prepare(t, claim("a", "p", "x=macvlan-eth0-1"), claim("b", "q", "x=macvlan-eth0-9"))
	if results["a"].Err != nil || results["b"].Err == nil {
		t.Errorf("%+v", results)
	}
}

// TestAPodIsToldOfItsPorts in its events: which ports it got, or why none.
func TestAPodIsToldOfItsPorts(t *testing.T) {
	d, events := newDriver(t), record.NewFakeRecorder(4)
	d.Events = events
	d.prepare(t, claim("a", "p", "x=macvlan-eth0-1"), alsoOf(claim("b", "p", "y=switch-1"), "q"))
	held, err := d.Keeper.Held()
	if err != nil || len(held) != 1 {
		t.Fatalf("%+v, %v", held, err)
	}
	tellAttached(events, held[0])
	held[0].Interface, held[0].Mount, held[0].Port = "", "/run/x", ports(t).Ports["switch-2"]
	tellAttached(events, held[0])
	for _, want := range []string{ // the second of both pods
		"Warning PortRefused claim claim-b: claim default/claim-b is not of one pod", "Warning PortRefused claim claim-b: ",
		"Normal PortAttached net1 is port macvlan-eth0-1 (macvlan) with 10.0.0.1/24", "Normal PortAttached /run/x/s is port switch-2 (switch)",
	} {
		if got := <-events.Events; !strings.HasPrefix(got, want) {
			t.Errorf("it is told %q, not %q", got, want)
		}
	}
}

// TestAPortOfAClaimThatIsGoneIsFree, as where the kubelet has lost what it knew of it.
func TestAPortOfAClaimThatIsGoneIsFree(t *testing.T) {
	d := newDriver(t)
	d.prepare(t, claim("a", "p", "x=macvlan-eth0-1", "x=macvlan-eth0-2"))
	d.Exists = ExistsIn(fake.NewClientset())
	if r := d.prepare(t, claim("b", "q", "x=macvlan-eth0-1"))["b"]; r.Err != nil {
		t.Fatal(r.Err)
	}
	held, err := d.Keeper.Held()
	if err != nil || len(held) != 1 || held[0].Holder != "b" {
		t.Errorf("held: %+v, %v", held, err)
	}
	// One of the same name, but recreated, is another.
	d.Exists = ExistsIn(fake.NewClientset(&resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim-b", UID: "b"}}))
	if r := d.prepare(t, claim("c", "q", "x=macvlan-eth0-1"))["c"]; r.Err == nil {
		t.Error("a port was taken from a claim that is there")
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
