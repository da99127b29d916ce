package peer

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func nodes(count int) []Peer {
	var out []Peer
	for i := range count {
		out = append(out, Peer{Node: fmt.Sprintf("n%d", i), Zone: fmt.Sprint(i % 3), Address: netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)})})
	}
	return out
}

func TestOneOfEachPairAsks(t *testing.T) {
	const count = 60
	all := nodes(count)
	asked := map[string]int{}
	for _, self := range all {
		order := Order(self.Node, all, nil)
		for _, other := range order {
			if other.Node == self.Node {
				t.Fatalf("%s asks itself", self.Node)
			}
			asked[min(self.Node, other.Node)+"/"+max(self.Node, other.Node)]++
		}
		if len(order) < count/4 || len(order) > 3*count/4 {
			t.Errorf("%s asks %d of %d", self.Node, len(order), count-1)
		}
	}
	if len(asked) != count*(count-1)/2 {
		t.Errorf("%d pairs of %d", len(asked), count*(count-1)/2)
	}
	for pair, times := range asked {
		if times != 1 {
			t.Errorf("%s: asked %d times", pair, times)
		}
	}
}

// TestEachIsAskedInTurn asks two a round, until each was asked twice.
func TestEachIsAskedInTurn(t *testing.T) {
	all := nodes(40)
	asked, times := map[string]time.Time{}, map[string]int{}
	whole := len(Order("n0", all, nil))
	var first []string
	for round := range whole {
		for i, p := range Order("n0", all, asked)[:2] {
			asked[p.Node] = noon.Add(time.Duration(round)*time.Minute + time.Duration(i)*time.Second)
			times[p.Node]++
			if len(first) < whole {
				first = append(first, p.Zone)
			}
		}
	}
	if len(times) != whole {
		t.Errorf("%d of %d were asked", len(times), whole)
	}
	for node, n := range times {
		if n != 2 {
			t.Errorf("%s was asked %d times", node, n)
		}
	}
	near := 0
	for near < len(first) && first[near] == "0" {
		near++
	}
	for _, zone := range first[near:] {
		if zone == "0" {
			t.Errorf("not the own zone first: %v", first)
			break
		}
	}
	if near == 0 {
		t.Errorf("not the own zone first: %v", first)
	}
}

func TestAgentsAreFoundAsEndpoints(t *testing.T) {
	ready, not, node, zone := true, false, func(name string) *string { return &name }, "a"
	slice := func(name string, kind discovery.AddressType, endpoints ...discovery.Endpoint) *discovery.EndpointSlice {
		return &discovery.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: "nines", Labels: map[string]string{discovery.LabelServiceName: Service}},
			AddressType: kind, Endpoints: endpoints,
		}
	}
	other := slice("other", discovery.AddressTypeIPv4, discovery.Endpoint{NodeName: node("n9"), Addresses: []string{"10.0.0.9"}})
	other.Labels[discovery.LabelServiceName] = "another"
	kube := fake.NewClientset(other,
		slice("one", discovery.AddressTypeIPv4,
			discovery.Endpoint{NodeName: node("n2"), Addresses: []string{"10.0.0.2"}, Zone: &zone, Conditions: discovery.EndpointConditions{Ready: &ready}},
			discovery.Endpoint{NodeName: node("n3"), Addresses: []string{"10.0.0.3"}, Conditions: discovery.EndpointConditions{Ready: &not}}),
		slice("two", discovery.AddressTypeIPv4,
			discovery.Endpoint{NodeName: node("n1"), Addresses: []string{"10.0.0.1"}},
			discovery.Endpoint{NodeName: node("n2"), Addresses: []string{"10.0.0.2"}}),
		slice("six", discovery.AddressTypeIPv6, discovery.Endpoint{NodeName: node("n4"), Addresses: []string{"fd00::4"}}))
	found, err := Find(context.Background(), kube, "nines")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].Node != "n1" || found[1].Node != "n2" || found[1].Address.String() != "10.0.0.2" {
		t.Errorf("%+v", found)
	}
}
