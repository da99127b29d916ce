package scheduler_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// times sets when a figure was measured and until when it is good, from now.
func times(f v1alpha1.Figure, measured, until time.Duration) v1alpha1.Figure {
	now := time.Now()
	f.MeasuredAt, f.ValidUntil = metav1.NewTime(now.Add(measured)), metav1.NewTime(now.Add(until))
	return f
}

// untrusted has agents whose clocks are wrong, and figures that the API server takes and that
// contradict themselves. Each counts as unknown, with its reason, until it is mended.
func (p plane) untrusted(t *testing.T) {
	falling, few, above := figureOf("sriov", "", 50), figureOf("sriov", "", 50), figureOf("sriov", "", 50)
	falling.Percentiles[2].ValueNs = 1000
	few.Count = 100
	above.MaxNs = 40_000
	cases := map[string]struct {
		figure v1alpha1.Figure
		why    string // empty where the pod is placed
	}{
		"a-little-ahead": {times(figureOf("sriov", "", 50), 20*time.Second, time.Hour), ""},
		"ahead":          {times(figureOf("sriov", "", 50), 10*time.Minute, time.Hour), "sriov was measured in the future: set the clock of this node or of the scheduler"},
		"behind":         {times(figureOf("sriov", "", 50), -2*time.Hour, -105*time.Minute), "sriov was measured 2 h ago, which is too old to count"},
		"falling":        {falling, "sriov is unusable: its p99.99 is below its p99"},
		"few":            {few, "sriov is unusable: 100 packets cannot tell its p99.99"},
		"above":          {above, "sriov is unusable: its p50 is above its maximum"},
	}
	// An event has a sentence for each node if there are eight at most: these, and that of seen.
	for node, c := range cases {
		p.Node(t, node, map[string]string{"name": node})
		p.measure(t, node, c.figure)
	}
	p.seen(t)
	for node, c := range cases {
		p.Pod(t, node, request("p99 < 100us"), on(node))
		if c.why == "" {
			p.Bound(t, node)
		} else if why := p.Refused(t, node); !strings.Contains(why, "node "+node+": "+c.why) {
			t.Errorf("%s: %q is not in\n%s", node, c.why, why)
		}
	}
	for node := range cases {
		p.measure(t, node, figureOf("sriov", "", 50))
		p.Bound(t, node)
	}
	// A clock that jumps back: what the agent says last counts, also where it is of an earlier time.
	p.measure(t, "ahead", times(figureOf("sriov", "", 50), -3*time.Hour, -2*time.Hour))
	p.seen(t)
	p.Pod(t, "after-the-jump", request("p99 < 100us"), on("ahead"))
	p.Refused(t, "after-the-jump")
	p.measure(t, "ahead", figureOf("sriov", "", 50))
	p.Bound(t, "after-the-jump")
}

// contradictingEnds has a fast figure of one end and a slow one of the other: the worse counts.
func (p plane) contradictingEnds(t *testing.T) {
	p.Node(t, "n1", nil)
	p.Node(t, "database", nil)
	p.cordon(t, "database")
	p.measure(t, "n1", figureOf("vxlan", "database", 50))
	p.measure(t, "database", figureOf("vxlan", "n1", 500))
	p.seen(t)
	p.Pod(t, "far", request("p99 < 100us; to: database"))
	if why := p.Refused(t, "far"); !strings.Contains(why, "node n1: p99 of vxlan to database is 500 µs, 100 µs requested") {
		t.Errorf("it says\n%s", why)
	}
	p.measure(t, "database", figureOf("vxlan", "n1", 60))
	if promise := promised(t, p.Bound(t, "far")); promise.BoundNs != 60_001 {
		t.Errorf("it is promised %+v, and one end has measured 60 µs", promise)
	}
}
