package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNodesHaveWhatWasRecorded: what a node publishes and what its pods get are recorded figures of its tiers, and the
// second follows the first, on the same host unless the node has got other work.
func TestNodesHaveWhatWasRecorded(t *testing.T) {
	r := recordings(t)
	shape := Usual()
	shape.Disturbed = 0
	for _, n := range Populate(r, shape, rand.New(rand.NewPCG(1, 0))) {
		for _, f := range n.Figures {
			published, truth := f.Points[0].ValueNs, int64(n.Truth[f.Tier])
			if !follows(r[f.Tier], published, truth) {
				t.Fatalf("%s publishes %d ns on %s and gives %d ns", n.Name, published, f.Tier, truth)
			}
		}
	}
}

func follows(of map[string][]Recorded, published, truth int64) bool {
	for _, parts := range of {
		for i := range parts[1:] {
			if parts[i].P99Ns == published && parts[i+1].P99Ns == truth {
				return true
			}
		}
	}
	return false
}

// TestEachHostIsRecordedOnEachTier: a node is of one moment on all tiers that the kernel carries.
func TestEachHostIsRecordedOnEachTier(t *testing.T) {
	r := recordings(t)
	for _, s := range kernelHosts {
		if n := r.moments(s.host, "xdp", plain, "vxlan"); n < 10 {
			t.Errorf("%s has %d moments", s.host, n)
		}
	}
	for _, s := range portHosts {
		if n := r.moments(s.host, tierPort); n < 5 {
			t.Errorf("%s has %d moments", s.host, n)
		}
	}
	for tier, hosts := range r {
		for host, parts := range hosts {
			if bad := slices.IndexFunc(parts, func(p Recorded) bool { return p.Count < 10_000 || p.UpperNs < p.P99Ns || p.P99Ns <= 0 }); bad >= 0 {
				t.Errorf("%s on %s, part %d: %+v", tier, host, bad+1, parts[bad])
			}
		}
	}
}
