package scheduler_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// definition holds the YAML of the custom resource against Go's types: what is written comes back,
// and what contradicts itself is refused before anyone reads it.
func (p plane) definition(t *testing.T) {
	defer p.Clear(t)
	full := figureOf("sriov", "n2", 60)
	full.MaxNs, full.ErrorNs, full.RatePPS, full.FrameBytes = 1e6, 5, 10_000, 64
	full.Way, full.Verdict, full.Reasons = v1alpha1.RoundTrip, v1alpha1.Noisy, []string{"an interrupt"}
	full.Histogram = []byte{1, 2, 3}
	full.MeasuredAt, full.ValidUntil = full.MeasuredAt.Rfc3339Copy(), full.ValidUntil.Rfc3339Copy()
	p.measure(t, "n1", figureOf("sriov", "", 60), full)
	back, err := p.Latencies.Get(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(full, back.Figures[1]); difference != "" {
		t.Errorf("what comes back differs:\n%s", difference)
	}
	for want, change := range map[string]func(*v1alpha1.Figure){
		"validUntil is not after measuredAt": func(f *v1alpha1.Figure) { f.ValidUntil = f.MeasuredAt },
		"figures[1]: Duplicate value":        func(f *v1alpha1.Figure) { f.Peer = "" },
		"count is 0":                         func(f *v1alpha1.Figure) { f.Count = 0 },
		"supported values":                   func(f *v1alpha1.Figure) { f.Verdict = "Fine" },
		"figures[1].tier":                    func(f *v1alpha1.Figure) { f.Tier = "SR-IOV" },
		"figures[1].percentiles[0].p":        func(f *v1alpha1.Figure) { f.Percentiles = []v1alpha1.Percentile{{P: "median"}} },
		"greater than or equal to 0":         func(f *v1alpha1.Figure) { f.MaxNs = -1 },
	} {
		wrong := figureOf("sriov", "n2", 60)
		change(&wrong)
		_, err := p.Latencies.Create(t.Context(), &v1alpha1.NodeLatency{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
			ObjectMeta: metav1.ObjectMeta{Name: "wrong"}, Figures: []v1alpha1.Figure{figureOf("sriov", "", 60), wrong},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
