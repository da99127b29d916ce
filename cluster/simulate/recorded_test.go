package simulate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNodesHaveWhatWasRecorded: what a node publishes is of recorded trials of its tiers, and what its pods get is the
// trial after them, on the same host unless the node has got other work.
func TestNodesHaveWhatWasRecorded(t *testing.T) {
	r := recordings(t)
	shape := Usual()
	shape.Disturbed = 0
	for _, n := range Populate(r, shape, rand.New(rand.NewPCG(1, 0))) {
		for _, f := range n.Figures {
			published, truth := f.Points[0], int64(n.Truth[f.Tier])
			if !follows(r[f.Tier], published.ValueNs, published.BoundNs, truth) {
				t.Fatalf("%s publishes %+v on %s and gives %d ns", n.Name, published, f.Tier, truth)
			}
		}
	}
}

func follows(of map[string][]Recorded, p99Ns, upperNs, truth int64) bool {
	for _, parts := range of {
		for i := window - 1; i+1 < len(parts); i++ {
			if _, median, largest := figure(parts, i); median == p99Ns && largest == upperNs && parts[i+1].P99Ns == truth {
				return true
			}
		}
	}
	return false
}

// TestAFigureIsOfTheTrialsBeforeIt: of these six, and no others.
func TestAFigureIsOfTheTrialsBeforeIt(t *testing.T) {
	of := []Recorded{{10, 99}, {10, 3}, {10, 1}, {10, 7}, {10, 2}, {10, 5}, {10, 6}, {10, 98}}
	if count, median, largest := figure(of, 6); count != 60 || median != 4 || largest != 7 {
		t.Errorf("%d packets, %d ns, at most %d ns", count, median, largest)
	}
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
			if bad := slices.IndexFunc(parts, func(p Recorded) bool { return p.Count < 10_000 || p.P99Ns <= 0 }); bad >= 0 {
				t.Errorf("%s on %s, part %d: %+v", tier, host, bad+1, parts[bad])
			}
		}
	}
}
