package scheduler

import (
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

func podWith(uid string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "default", UID: types.UID(uid), Annotations: annotations}}
}

// Without a signature the scheduler would place no pod at all together with others.
func TestPodsWithoutARequestAreSigned(t *testing.T) {
	p := newPlugin(nil)
	if _, status := p.SignPod(t.Context(), podWith("a", map[string]string{"other": "x"})); !status.IsSuccess() {
		t.Errorf("a pod without a latency request: %v", status)
	}
	for _, annotations := range []map[string]string{{request.Annotation: "p50 < 1ms"}, {request.ThesisAnnotation: "800"}, {request.Annotation: "wrong"}} {
		if _, status := p.SignPod(t.Context(), podWith("a", annotations)); status.Code() != fwk.Unschedulable {
			t.Errorf("%v: %v", annotations, status)
		}
	}
}

func TestHintsWakeOnlyWhomTheyMayHelp(t *testing.T) {
	p, log := newPlugin(nil), klog.Background()
	ours, theirs, none := podWith("ours", map[string]string{request.Annotation: "p50 < 1ms"}), podWith("theirs", map[string]string{request.ThesisAnnotation: "800"}), podWith("none", nil)
	node := func(labels map[string]string, annotations map[string]string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels, Annotations: annotations}}
	}
	mended := podWith("ours", map[string]string{request.Annotation: "p50 < 2ms"})
	for name, c := range map[string]struct {
		hint          fwk.QueueingHintFn
		pod           *corev1.Pod
		before, after any
		want          fwk.QueueingHint
	}{
		"a new node":            {p.afterNode, ours, nil, node(nil, nil), fwk.Queue},
		"a new label":           {p.afterNode, ours, node(nil, nil), node(map[string]string{"a": "b"}, nil), fwk.Queue},
		"an annotation":         {p.afterNode, ours, node(nil, nil), node(nil, map[string]string{"a": "b"}), fwk.QueueSkip},
		"no latency request":    {p.afterNode, none, nil, node(nil, nil), fwk.QueueSkip},
		"a freed port":          {p.afterPodLeft, theirs, theirs, nil, fwk.Queue},
		"no port was freed":     {p.afterPodLeft, theirs, none, nil, fwk.QueueSkip},
		"a port is no use":      {p.afterPodLeft, ours, theirs, nil, fwk.QueueSkip},
		"another request":       {p.afterRequest, ours, ours, mended, fwk.Queue},
		"another annotation":    {p.afterRequest, ours, ours, podWith("ours", map[string]string{request.Annotation: "p50 < 1ms", "a": "b"}), fwk.QueueSkip},
		"another pod's request": {p.afterRequest, ours, theirs, podWith("theirs", nil), fwk.QueueSkip},
		"objects of no use":     {p.afterNode, ours, "x", "y", fwk.QueueSkip},
		"a missed deletion":     {p.afterPodLeft, theirs, nil, nil, fwk.Queue},
		"an update of nothing":  {p.afterRequest, ours, nil, nil, fwk.QueueSkip},
	} {
		if got, err := c.hint(log, c.pod, c.before, c.after); err != nil || got != c.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func sound(us int64) []nodefit.Figure {
	upper := us * 1000
	return nodefit.Read([]v1alpha1.Figure{{
		Tier: "sriov", Count: 1_000_000, Verdict: v1alpha1.Clean, Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: us * 1000, UpperNs: &upper}},
		MeasuredAt: metav1.NewTime(time.Now().Add(-time.Minute)), ValidUntil: metav1.NewTime(time.Now().Add(time.Hour)),
	}})
}

// Whatever comes first, a try or new figures, a pod has read them or is woken. Each round has both
// at once.
func TestNoWakeUpIsLost(t *testing.T) {
	r, err := request.Parse("p99 < 100us")
	if err != nil {
		t.Fatal(err)
	}
	var missed int
	for i := range 2000 {
		figures, waiters := newStore(), newWaiting()
		pod := podWith(strconv.Itoa(i), nil)
		var suits bool
		var woken int
		var both sync.WaitGroup
		both.Go(func() {
			q := &nodefit.Question{Request: r, Of: figures.of, Now: time.Now()}
			waiters.enter(pod, q)
			answer := q.Ask(nodefit.Node{Name: "n"})
			suits = answer.Suits()
		})
		both.Go(func() {
			before := figures.set("n", sound(50))
			woken = len(waiters.helped(nodefit.Node{Name: "n"}, before, time.Now()))
		})
		both.Wait()
		if !suits && woken == 0 {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of 2000 pods neither read the figures nor were woken", missed)
	}
}

func TestFiguresWakeWhomTheyHelp(t *testing.T) {
	for name, c := range map[string]struct {
		request       string
		before, after int64 // µs, 0 for none
		peers         []string
		want          bool
	}{
		"the first":               {"p99 < 100us", 0, 50, nil, true},
		"faster":                  {"p99 < 100us", 200, 50, nil, true},
		"still too slow":          {"p99 < 100us", 300, 200, nil, false},
		"as good as before":       {"p99 < 100us", 60, 50, nil, false}, // it waits for something else
		"slower":                  {"p99 < 100us", 50, 200, nil, false},
		"a better alternative":    {"p99 < 100us else p99 < 1ms", 200, 50, nil, true},
		"no better alternative":   {"p99 < 100us else p99 < 1ms", 300, 200, nil, false},
		"those of a peer":         {"p99 < 100us; to: n", 50, 50, []string{"n"}, true},
		"those of someone else":   {"p99 < 100us; to: m", 0, 50, []string{"m"}, false},
		"nothing, where any does": {"p99 < 100us else any", 300, 200, nil, false},
	} {
		r, err := request.Parse(c.request)
		if err != nil {
			t.Fatal(err)
		}
		figures, waiters := newStore(), newWaiting()
		waiters.enter(podWith("a", nil), &nodefit.Question{Request: r, Of: figures.of, Peers: c.peers})
		if c.before > 0 {
			figures.set("n", sound(c.before))
		}
		before := figures.set("n", sound(c.after))
		if got := len(waiters.helped(nodefit.Node{Name: "n"}, before, time.Now())) == 1; got != c.want {
			t.Errorf("%s: woken %v, want %v", name, got, c.want)
		}
	}
}

func TestReservationsAreForgotten(t *testing.T) {
	r, now := newReservations(), time.Now()
	r.keep("old", "dpdk", now)
	r.keep("kept", "dpdk", now.Add(longestBind))
	r.keep("new", "default", now.Add(longestBind+time.Second))
	if _, found := r.tier("old"); found {
		t.Error("a reservation of a pod that was never bound stays for ever")
	}
	if tier, found := r.tier("kept"); !found || tier != "dpdk" {
		t.Error("a reservation is forgotten too early")
	}
	r.forget("kept")
	r.forget("kept")
	if _, found := r.tier("kept"); found {
		t.Error("a reservation that was given back stays")
	}
}
