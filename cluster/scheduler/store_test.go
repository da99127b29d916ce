package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/figure"
	"nines.dev/nines/cluster/wish"
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
	p := newPlugin(nil)
	s := p.figures
	s.set("n", figures)
	node := framework.NewNodeInfo()
	node.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	wishes := []string{"p99 < 10us", "p99 < 100us", "p99 < 1ms", "p99 < 100us else p99 < 1ms", "p99 < 10us else any", "p99.99 < 1ms", "p99 < 100us; tier: veth"}
	for us := range mostVerdicts { // more than are remembered
		wishes = append(wishes, fmt.Sprintf("p50 < %dus", us+15))
	}
	for _, minute := range []int{-5, 0, 10, 18, 19, 25, 39, 40, 59, 60, 90, 25, 10, -5, 59} {
		now := start.Add(time.Duration(minute) * time.Minute)
		want, _ := figure.Best(figures, now)
		for range 2 { // the second is remembered
			if got := s.fastest("n", now); got != want {
				t.Errorf("at minute %d: %s, want %s", minute, got, want)
			}
			for _, text := range wishes {
				w, err := wish.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				q := &figure.Question{Wish: w, Of: s.of, Now: now}
				for range 2 {
					if diff := cmp.Diff(q.Ask(figure.Node{Name: "n"}), p.ask(q, &corev1.Pod{}, node).Answer); diff != "" {
						t.Errorf("%s at minute %d: -want +got\n%s", text, minute, diff)
					}
				}
			}
		}
	}
	if k := s.node("n").at(start); len(k.verdicts) > mostVerdicts {
		t.Errorf("%d verdicts are remembered", len(k.verdicts))
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
