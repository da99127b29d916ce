package scheduler

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/figure"
)

// What the store remembers is what the figures say at any time, also where the clock goes back and
// forth: before one counts, while two do, when one is too old, and when both are.
func TestTheStoreRemembersOnlyWhatStillHolds(t *testing.T) {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	of := func(tier string, us int64, from, until time.Duration) v1alpha1.Figure {
		upper := us * 1000
		return v1alpha1.Figure{
			Tier: tier, Count: 1_000_000, Verdict: v1alpha1.Clean, Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: us * 1000, UpperNs: &upper}},
			MeasuredAt: metav1.NewTime(start.Add(from)), ValidUntil: metav1.NewTime(start.Add(until)),
		}
	}
	figures := figure.Read([]v1alpha1.Figure{of("veth", 200, 0, time.Hour), of("sriov", 20, 20*time.Minute, 40*time.Minute)})
	s := newStore()
	s.set("n", figures)
	for _, minute := range []int{-5, 0, 10, 18, 19, 25, 39, 40, 59, 60, 90, 25, 10, -5, 59} {
		now := start.Add(time.Duration(minute) * time.Minute)
		want, _ := figure.Best(figures, now)
		for range 2 { // the second is remembered
			if got := s.fastest("n", now); got != want {
				t.Errorf("at minute %d: %s, want %s", minute, got, want)
			}
		}
	}
	s.set("n", figures[:1])
	if got := s.fastest("n", start.Add(25*time.Minute)); got != 200*time.Microsecond {
		t.Errorf("after a new measurement: %s", got)
	}
	s.set("n", nil)
	if got := s.fastest("n", start.Add(25*time.Minute)); got != 0 {
		t.Errorf("without figures: %s", got)
	}
}
