package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
)

// published are the figures of an agent that has measured an hour, as the API server gives them back: its
// times are in whole seconds.
func published(t *testing.T, until time.Time) []v1alpha1.Figure {
	t.Helper()
	w := newWindow()
	for i := range 12 {
		w.Add(trialOf("veth", until.Add(time.Duration(i-11)*5*time.Minute), 5000, result.Clean))
	}
	list, err := w.Figures(until)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func percentiles(f v1alpha1.Figure) []string {
	var out []string
	for _, p := range f.Percentiles {
		if p.UpperNs != nil {
			out = append(out, p.P)
		}
	}
	return out
}

// alike reports whether percentiles and their bounds are the same, but for the largest value, which a published
// histogram has with three digits.
func alike(a, b []v1alpha1.Percentile) bool {
	return slices.EqualFunc(a, b, func(x, y v1alpha1.Percentile) bool {
		near := func(v, w int64) bool { return math.Abs(float64(v-w)) <= float64(w)/1000 }
		return x.P == y.P && near(x.ValueNs, y.ValueNs) && (x.UpperNs == nil) == (y.UpperNs == nil) && (x.UpperNs == nil || near(*x.UpperNs, *y.UpperNs))
	})
}

func TestANewAgentGoesOnWithTheHourBefore(t *testing.T) {
	before := published(t, noon)
	w := newWindow()
	if err := w.Resume(before, load, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if f := figures(t, w, noon.Add(time.Minute))["veth"]; f.Count != 60_000 || !alike(f.Percentiles, before[0].Percentiles) || !f.MeasuredAt.Equal(&before[0].MeasuredAt) || !f.ValidUntil.Equal(&before[0].ValidUntil) {
		t.Errorf("before its first trial: %+v", f)
	}
	w.Add(trialOf("veth", noon.Add(5*time.Minute), 5000, result.Noisy, "the host took the CPU"))
	f := figures(t, w, noon.Add(5*time.Minute))["veth"]
	if f.Count != 65_000 || f.Verdict != v1alpha1.Noisy || !slices.Contains(percentiles(f), "99.99") {
		t.Errorf("after it: %+v", f)
	}
	if !f.Since.Equal(before[0].Since) || f.ValidUntil.Sub(noon) != 20*time.Minute {
		t.Errorf("since %s, until %s", f.Since, f.ValidUntil)
	}
	w.Add(trialOf("veth", noon.Add(61*time.Minute), 5000, result.Clean))
	if f := figures(t, w, noon.Add(61*time.Minute))["veth"]; f.Count != 10_000 {
		t.Errorf("an hour after: %d packets", f.Count)
	}
}

// TestResumedBehindNewTrials: an agent that was started while the API server was away has measured already.
func TestResumedBehindNewTrials(t *testing.T) {
	w := newWindow()
	w.Add(trialOf("veth", noon.Add(5*time.Minute), 1000, result.Clean))
	if err := w.Resume(published(t, noon), load, noon.Add(5*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if f := figures(t, w, noon.Add(5*time.Minute))["veth"]; f.Count != 61_000 || !f.MeasuredAt.Time.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("%+v", f)
	}
}

func TestWhatDoesNotCountIsNotGoneOnWith(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Figure){
		"too old": func(f *v1alpha1.Figure) {
			f.MeasuredAt, f.ValidUntil = metav1.NewTime(noon.Add(-61*time.Minute)), metav1.NewTime(noon.Add(-46*time.Minute))
		},
		"of the future":         func(f *v1alpha1.Figure) { f.MeasuredAt = metav1.NewTime(noon.Add(time.Minute)) },
		"invalid":               func(f *v1alpha1.Figure) { f.Verdict = v1alpha1.Invalid },
		"at another rate":       func(f *v1alpha1.Figure) { f.RatePPS = 7 },
		"with other frames":     func(f *v1alpha1.Figure) { f.FrameBytes = 1518 },
		"without a histogram":   func(f *v1alpha1.Figure) { f.Histogram = nil },
		"of an older agent":     func(f *v1alpha1.Figure) { f.Spread = nil },
		"of packets of the day": func(f *v1alpha1.Figure) { f.Since.Time = noon.Add(-121 * time.Minute) },
	} {
		before := published(t, noon)
		change(&before[0])
		w := newWindow()
		if err := w.Resume(before, load, noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if list := figures(t, w, noon); len(list) != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
	for name, cut := range map[string]func(*v1alpha1.Figure){
		"histogram": func(f *v1alpha1.Figure) { f.Histogram = f.Histogram[:9] },
		"spread":    func(f *v1alpha1.Figure) { f.Spread = f.Spread[:9] },
	} {
		broken := published(t, noon)
		cut(&broken[0])
		w := newWindow()
		if err := w.Resume(append(broken, to("n2", trialOf("", noon, 1, result.Clean)).published(t)), load, noon); err == nil {
			t.Errorf("half a %s is read", name)
		}
		if list := figures(t, w, noon); len(list) != 1 || list[NodeNetwork].Peer != "n2" {
			t.Errorf("half a %s: %+v", name, list)
		}
	}
}

// published is the figure of this trial alone.
func (t Trial) published(test *testing.T) v1alpha1.Figure {
	test.Helper()
	w := newWindow()
	w.Add(t)
	list, err := w.Figures(t.At)
	if err != nil {
		test.Fatal(err)
	}
	return list[0]
}

// TestTheWayToOneOfManyNodesKeepsItsTrials: it is measured again after more than an hour.
func TestTheWayToOneOfManyNodesKeepsItsTrials(t *testing.T) {
	w := newWindow()
	for i := range 4 {
		trial := to("n2", trialOf("", noon.Add(time.Duration(i)*4*time.Hour), 5000, result.Clean))
		trial.Valid = 12 * time.Hour
		w.Add(trial)
	}
	at := noon.Add(12 * time.Hour)
	if f := figures(t, w, at)[NodeNetwork]; f.Count != 20_000 {
		t.Errorf("%d packets after 12 hours", f.Count)
	}
	again := newWindow()
	list, err := w.Figures(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Resume(list, load, at.Add(3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if f := figures(t, again, at.Add(3*time.Hour))[NodeNetwork]; f.Count != 20_000 || f.ValidUntil.Sub(at) != 12*time.Hour {
		t.Errorf("after a restart: %+v", f)
	}
	if f := figures(t, w, at.Add(5*time.Hour))[NodeNetwork]; f.Count != 10_000 {
		t.Errorf("%d packets after 17 hours", f.Count)
	}
}
