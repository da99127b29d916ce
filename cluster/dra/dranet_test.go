package dra

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/host"
)

// withCards is a node with two cards, of which one has functions, and a macvlan device.
func withCards() *host.Inventory {
	return &host.Inventory{
		NICs: []host.NIC{
			{Name: "eth1", PCIAddress: "0000:01:00.0", MAC: "02:00:00:00:00:01"}, {Name: "eth2", PCIAddress: "0000:02:00.0", MAC: "02:00:00:00:00:02"},
			{Name: "mac0", MAC: "02:00:00:00:00:03", Virtual: true}, {Name: "br.0", MAC: "02:00:00:00:00:04", Virtual: true},
		},
		Functions: []host.Function{{Interface: "eth2", VFs: []host.VirtualFunction{{Index: 0, Address: "0000:02:10.0"}, {Index: 1, Address: "0000:02:10.1"}}}},
	}
}

const onCards = "ports: [{tier: macvlan, parent: eth1, count: 2}, {tier: sriov, parent: eth2, count: 1}, {tier: bridge, parent: br.0, count: 1}]"

// TestDranetIsToldWhatNinesKnows of each of its devices, over the socket as dranet asks.
func TestDranetIsToldWhatNinesKnows(t *testing.T) {
	inv, err := inventory(t, onCards, "n1")
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{Dranet: filepath.Join(t.TempDir(), "d.sock")}
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := s.serveDranet(ctx)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.Dranet)
	}}}
	ask := func(path, body string, into any) int {
		response, err := client.Post("http://localhost"+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			if err := json.NewDecoder(response.Body).Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		return response.StatusCode
	}
	var told map[resource.QualifiedName]resource.DeviceAttribute
	if status := ask("/GetDeviceAttributes", `{"name": "eth1"}`, &told); status != http.StatusServiceUnavailable {
		t.Errorf("before anything is known it answers %d", status)
	}
	now := time.Now()
	s.known.Store(&known{node: withCards(), inv: inv, latencies: Latencies([]v1alpha1.Figure{measured("passthrough", 9_000), measured("sriov", 8_000)}, now, Steady{})})
	for body, want := range map[string]string{
		`{"name":"pci-0000-01-00-0","pci_address":"0000:01:00.0","mac_address":"02:00:00:00:00:01"}`: "nines.dev/measuredAt nines.dev/p50Ns nines.dev/p99Ns nines.dev/ports nines.dev/tier nines.dev/verdict",
		// A function that is no port of ours, and one that is.
		`{"name":"pci-0000-02-10-1","pci_address":"0000:02:10.1"}`: "nines.dev/measuredAt nines.dev/p50Ns nines.dev/p99Ns nines.dev/tier nines.dev/verdict",
		`{"name":"pci-0000-02-10-0","pci_address":"0000:02:10.0"}`: "nines.dev/measuredAt nines.dev/p50Ns nines.dev/p99Ns nines.dev/ports nines.dev/tier nines.dev/verdict",
		// The name of br.0 is no DNS label.
		`{"name":"net-mjzc4ma","mac_address":"02:00:00:00:00:04"}`: "nines.dev/ports",
		`{"name":"mac0","mac_address":"02:00:00:00:00:03"}`:        "",
		`{"name":"unknown"}`: "",
	} {
		told = nil
		status := ask("/GetDeviceAttributes", body, &told)
		var names []string
		for _, name := range slices.Sorted(maps.Keys(told)) {
			names = append(names, string(name))
		}
		if got := strings.Join(names, " "); status != http.StatusOK || got != want {
			t.Errorf("%s: %d, %s", body, status, got)
		}
	}
	k := s.known.Load()
	if a := k.attributes(asked{Name: "mac0"}, func(string) string { return "macvlan" }); *a["nines.dev/tier"].StringValue != "macvlan" {
		t.Errorf("of a macvlan device: %v", a)
	}
	if a := k.attributes(asked{PCI: "0000:02:10.1"}, nil); *a["nines.dev/tier"].StringValue != "sriov" || *a["nines.dev/p99Ns"].IntValue != 8_000 {
		t.Errorf("of a function: %v", a)
	}
	if status := ask("/GetDeviceAttributes", "{", &told); status != http.StatusBadRequest {
		t.Errorf("what is no JSON gets %d", status)
	}
	if status := ask("/GetDeviceAttributes", `{"name":"`+string(bytes.Repeat([]byte("x"), 1<<17))+`"}`, &told); status != http.StatusBadRequest {
		t.Errorf("what is too long gets %d", status)
	}
	cancel()
	wait()
	if _, err := client.Get("http://localhost/health"); err == nil {
		t.Error("it still answers")
	}
}

// TestWhatAnotherDriverOffersIsLeftOut, as neither knows about the other's claims.
func TestWhatAnotherDriverOffersIsLeftOut(t *testing.T) {
	inv, err := inventory(t, onCards, "n1")
	if err != nil {
		t.Fatal(err)
	}
	offers := func(driver string, attribute resource.QualifiedName, value string) *resource.ResourceSlice {
		return &resource.ResourceSlice{Spec: resource.ResourceSliceSpec{Driver: driver, Devices: []resource.Device{
			{Name: "it", Attributes: map[resource.QualifiedName]resource.DeviceAttribute{attribute: text(value), "dra.net/rdma": {}}},
		}}}
	}
	for _, one := range []struct {
		slice *resource.ResourceSlice
		left  string
	}{
		{offers("dra.net", "dra.net/ifName", "eth1"), "bridge-br-0-1 sriov-eth2-1"},
		{offers("dra.net", "dra.net/pciAddress", "0000:01:00.0"), "bridge-br-0-1 sriov-eth2-1"},
		{offers("dra.net", "dra.net/ifName", "br.0"), "macvlan-eth1-1 macvlan-eth1-2 sriov-eth2-1"},
		{offers("sriov.example.com", "resource.kubernetes.io/pciBusID", "0000:02:10.0"), "bridge-br-0-1 macvlan-eth1-1 macvlan-eth1-2"},
		{offers("sriov.example.com", "resource.kubernetes.io/pciBusID", "0000:02:10.1"), "bridge-br-0-1 macvlan-eth1-1 macvlan-eth1-2 sriov-eth2-1"},
		{offers(DriverName, "resource.kubernetes.io/pciBusID", "0000:01:00.0"), "bridge-br-0-1 macvlan-eth1-1 macvlan-eth1-2 sriov-eth2-1"},
		{offers("gpu.example.com", "resource.kubernetes.io/pciBusID", "0000:77:00.0"), "bridge-br-0-1 macvlan-eth1-1 macvlan-eth1-2 sriov-eth2-1"},
	} {
		offered := OfferedIn([]*resource.ResourceSlice{one.slice})
		var left []string
		for name, p := range inv.Ports {
			if offered.of(p, withCards()) == "" {
				left = append(left, name)
			}
		}
		slices.Sort(left)
		if got := strings.Join(left, " "); got != one.left {
			t.Errorf("%s offers %v, and we still offer %s", one.slice.Spec.Driver, offered, got)
		}
	}
}

// TestWhatAnotherDriverBeginsToOfferIsTakenBack, and offered again when that is gone.
func TestWhatAnotherDriverBeginsToOfferIsTakenBack(t *testing.T) {
	inv, err := inventory(t, onCards, "n1")
	if err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset()
	s := &Service{Driver: &Driver{Node: "n1"}, Kube: kube, node: withCards()}
	lister, changed, err := s.watchOthers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.others = lister
	slice := func(driver string) *resource.ResourceSlice {
		node := "n1"
		return &resource.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resource.ResourceSliceSpec{
			Driver: driver, NodeName: &node,
			Devices: []resource.Device{{Name: "it", Attributes: map[resource.QualifiedName]resource.DeviceAttribute{"dra.net/ifName": text("eth1")}}},
		}}
	}
	await := func(ports int) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("nobody tells of the change")
		}
		if rest, err := s.without(inv); err != nil || len(rest.Ports) != ports {
			t.Errorf("the node offers %v, %v", rest.Ports, err)
		}
	}
	objects := kube.ResourceV1().ResourceSlices()
	// Our own tell nothing new: the next to be told of is dranet's.
	if _, err := objects.Create(t.Context(), slice(DriverName), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Create(t.Context(), slice("dra.net"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(2)
	if err := objects.Delete(t.Context(), "dra.net", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(4)
}
