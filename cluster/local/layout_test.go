package local

import (
	"testing"

	"nines.dev/nines/exit"
)

func TestEveryNodeHasAddressesOfItsOwn(t *testing.T) {
	layout, err := NewLayout("kube", MaxNodes)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{ControlAddress.String(): ControlName}
	for _, n := range layout.Nodes {
		if other := seen[n.Address.String()]; other != "" {
			t.Errorf("%s and %s have %s", n.Name, other, n.Address)
		}
		seen[n.Address.String()] = n.Name
		if !Network.Contains(n.Address) {
			t.Errorf("%s has %s, outside of %s", n.Name, n.Address, Network)
		}
		if n.Pods.Overlaps(Network) || n.Pods.Overlaps(Services) || !n.Pods.Contains(n.gateway()) {
			t.Errorf("%s has pods in %s by %s", n.Name, n.Pods, n.gateway())
		}
		for _, other := range layout.Nodes {
			if other.Name != n.Name && other.Pods.Overlaps(n.Pods) {
				t.Errorf("%s and %s share pods in %s", n.Name, other.Name, n.Pods)
			}
		}
		// IFNAMSIZ, linux/if.h.
		if len(n.device()) > 15 {
			t.Errorf("device %q has too long a name", n.device())
		}
	}
	if !Services.Contains(APIService) || APIService != Services.Addr().Next() {
		t.Errorf("%s is not the first of %s", APIService, Services)
	}
}

func TestWrongClustersAreRefused(t *testing.T) {
	for _, wrong := range []struct {
		name  string
		nodes int
	}{{"kube", 0}, {"kube", MaxNodes + 1}, {"", 1}, {"a/b", 1}, {"..", 1}, {"Kube", 1}, {"a-name-that-is-longer-than-a-label", 1}} {
		if _, err := NewLayout(wrong.name, wrong.nodes); exit.Code(err) != exit.Wrong {
			t.Errorf("%q with %d nodes: %v", wrong.name, wrong.nodes, err)
		}
	}
}
