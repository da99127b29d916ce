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
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
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
	figures := nodefit.Read([]v1alpha1.Figure{of("veth", 200, 0, time.Hour), of("sriov", 20, 20*time.Minute, 40*time.Minute)})
	p := newPlugin(nil)
	s := p.figures
	s.set("n", figures)
	node := framework.NewNodeInfo()
	node.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	requests := []string{"p99 < 10us", "p99 < 100us", "p99 < 1ms", "p99 < 100us else p99 < 1ms", "p99 < 10us else any", "p99.99 < 1ms", "p99 < 100us; tier: veth"}
	for us := range mostVerdicts { // more than are remembered
		requests = append(requests, fmt.Sprintf("p50 < %dus", us+15))
	}
	for _, minute := range []int{-5, 0, 10, 18, 19, 25, 39, 40, 59, 60, 90, 25, 10, -5, 59} {
		now := start.Add(time.Duration(minute) * time.Minute)
		want, _ := nodefit.Best(figures, now)
		for range 2 { // the second is remembered
			if got := s.fastest(node.Node(), now); got != want {
				t.Errorf("at minute %d: %s, want %s", minute, got, want)
			}
			for _, text := range requests {
				r, err := request.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				q := &nodefit.Question{Request: r, Of: s.of, Now: now}
				for range 2 {
					if diff := cmp.Diff(q.Ask(nodefit.Node{Name: "n"}), p.ask(q, &corev1.Pod{}, node).Answer); diff != "" {
						t.Errorf("%s at minute %d: -want +got\n%s", text, minute, diff)
					}
				}
			}
		}
	}
	if k := s.measuredAt(node.Node(), start).at(start); len(k.verdicts) > mostVerdicts {
		t.Errorf("%d verdicts are remembered", len(k.verdicts))
	}
	s.set("n", figures[:1])
	if got := s.fastest(node.Node(), start.Add(25*time.Minute)); got != 200*time.Microsecond {
		t.Errorf("after a new measurement: %s", got)
	}
	s.set("n", nil)
	if got := s.fastest(node.Node(), start.Add(25*time.Minute)); got != 0 {
		t.Errorf("without figures: %s", got)
	}
}

// TestTheStoreKnowsEachCopyOfANode: the scheduler's copy of a node is another after each of the kubelet's reports, and
// what is measured at it may come, change and go between any two looks.
func TestTheStoreKnowsEachCopyOfANode(t *testing.T) {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	figures := func(us int64) []nodefit.Figure {
		upper := us * 1000
		return nodefit.Read([]v1alpha1.Figure{{
			Tier: "veth", Count: 1_000_000, Verdict: v1alpha1.Clean, Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: upper, UpperNs: &upper}},
			MeasuredAt: metav1.NewTime(start), ValidUntil: metav1.NewTime(start.Add(time.Hour)),
		}})
	}
	copyOf := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	s := newStore()
	first, second, other := copyOf("n"), copyOf("n"), copyOf("other")
	s.set("other", figures(7))
	for i, us := range []int64{0, 200, 300, 0, 0, 100, 0, 400} {
		var set []nodefit.Figure
		if us > 0 {
			set = figures(us)
		}
		s.set("n", set)
		for _, node := range []*corev1.Node{first, second, first} {
			if got := s.fastest(node, start); got != time.Duration(us)*time.Microsecond {
				t.Errorf("after change %d: %s, want %d µs", i, got, us)
			}
		}
		if got := len(s.of("n")); got != len(set) {
			t.Errorf("after change %d: %d figures", i, got)
		}
		if got := s.fastest(other, start); got != 7*time.Microsecond {
			t.Errorf("after change %d the other node has %s", i, got)
		}
	}
	// Copies that the scheduler no longer has go, also where the clock is set back.
	for _, now := range []time.Time{start.Add(2 * seenFor), start} {
		for range 100 {
			s.fastest(copyOf("n"), now)
		}
		if got := len(s.seen); got != 100 {
			t.Errorf("%d copies are kept", got)
		}
	}
}
