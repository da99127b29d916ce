package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/result"
)

// took is a trial of veth whose packets all took as long.
func took(latency time.Duration, at time.Time) measure.Trial {
	const blocks = 20
	h, block := result.NewHistogram(), result.NewHistogram()
	for range 1000 / blocks {
		block.Record(latency.Nanoseconds())
	}
	for range blocks {
		h.Merge(block)
	}
	return measure.Trial{
		Tier: "veth", At: at, Verdict: result.Clean, Load: measure.Load{RatePPS: 1000, FrameBytes: 64, Duration: time.Second},
		Latency: h, Blocks: confidence.TrialBlocks(slices.Repeat([]*result.Packed{block.Packed()}, blocks)),
	}
}

// answers are trials that always find the same latency. The real ones are in the tests of package
// local.
type answers struct {
	latency time.Duration
	asked   int
}

func (a *answers) Run(context.Context, measure.Tier, measure.Load) (measure.Trial, error) {
	a.asked++
	return took(a.latency, time.Now()), nil
}

// unpublished is an API server that has no figures.
func unpublished(t *testing.T, lists string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if lists != "" && r.URL.Path == "/apis/nines.dev/v1alpha1/nodelatencies" {
			_, _ = w.Write([]byte(lists))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
	}))
	t.Cleanup(server.Close)
	objects, err := client.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestAPromiseIsMeasuredAgainBeforeItIsBroken has trials of the last hour, and what measuring again
// finds.
func TestAPromiseIsMeasuredAgainBeforeItIsBroken(t *testing.T) {
	const fast, slow = 50 * time.Microsecond, 143 * time.Microsecond
	for name, test := range map[string]struct {
		request   string
		trials    []time.Duration
		again     time.Duration
		beside    []v1.Pod
		asked     int
		broken    bool
		confirmed bool
		count     int64
	}{
		"all is well":                          {"p99 < 100us", []time.Duration{fast, fast, fast}, slow, nil, 0, false, false, 3000},
		"one bad trial":                        {"p99 < 100us", []time.Duration{fast, fast, slow}, fast, nil, 1, false, false, 4000},
		"slow from now on":                     {"p99 < 100us", []time.Duration{fast, fast, fast, slow}, slow, nil, 1, true, true, 2000},
		"slow, which the median shows late":    {"p50 < 100us", []time.Duration{fast, fast, fast, fast, slow}, slow, nil, 1, true, true, 2000},
		"one bad trial, not seen in the whole": {"p50 < 100us", []time.Duration{fast, fast, fast, fast, slow}, fast, nil, 1, false, false, 6000},
		"nobody can measure again":             {"p99 < 100us", []time.Duration{slow, slow}, fast, []v1.Pod{*lonely()}, 0, true, false, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			pod := placed("a", test.request)
			kube := fake.NewClientset(node.DeepCopy(), &pod)
			for _, p := range test.beside {
				if err := kube.Tracker().Add(&p); err != nil {
					t.Fatal(err)
				}
			}
			runner := &answers{latency: test.again}
			offered, err := measure.Tiers([]string{"veth"})
			if err != nil {
				t.Fatal(err)
			}
			a := &Agent{
				Node: "n1", Kube: kube, Metrics: NewMetrics(), Runner: runner, Objects: unpublished(t, ""), Slot: measure.NewSlot(),
				Budget: measure.Budget{CPU: time.Hour, Packets: 1 << 30},
				window: measure.Window{Length: time.Hour, Valid: 15 * time.Minute},
			}
			for i, latency := range test.trials {
				a.window.Add(took(latency, time.Now().Add(time.Duration(i-10)*time.Second)))
			}
			ctx := context.Background()
			view, err := a.look(ctx, node)
			if err != nil {
				t.Fatal(err)
			}
			view, acquitted, err := a.confirm(ctx, view, offered)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.judge(ctx, view, acquitted); err != nil {
				t.Fatal(err)
			}
			if runner.asked != test.asked || a.warned[pod.UID] != test.broken || a.confirmed[pod.UID] != test.confirmed {
				t.Errorf("measured again %d times, told %t, confirmed %t", runner.asked, a.warned[pod.UID], a.confirmed[pod.UID])
			}
			if len(view.Figures) != 1 || view.Figures[0].Count != test.count {
				t.Errorf("%+v", view.Figures)
			}
		})
	}
}

// TestARequestThatLeadsToAnotherNode is judged by the figures of both ends, of which the worse counts.
func TestARequestThatLeadsToAnotherNode(t *testing.T) {
	ours, theirs := measured(50*time.Microsecond, now)[0], measured(143*time.Microsecond, now)[0]
	ours.Tier, ours.Peer, ours.Way = measure.NodeNetwork, "n2", v1alpha1.RoundTrip
	theirs.Tier, theirs.Peer, theirs.Way = measure.NodeNetwork, "n1", v1alpha1.RoundTrip
	view := View{
		Node: node, Pods: []v1.Pod{placed("a", "p99 < 100us; to: rack=r1")}, Figures: []v1alpha1.Figure{ours},
		Peers: map[string][]string{"rack=r1": {"n2"}}, Now: now,
	}
	if broken := Judge(view); len(broken) != 0 {
		t.Errorf("%+v", broken)
	}
	view.Others = map[string][]v1alpha1.Figure{"n2": {theirs}}
	broken := Judge(view)
	if len(broken) != 1 || !broken[0].Known || broken[0].Way != (measure.Way{Tier: measure.NodeNetwork, Peer: "n2"}) {
		t.Errorf("%+v", broken)
	}
	// A new trial of the path replaces what the other end has measured before.
	if broken := Judge(view.With([]v1alpha1.Figure{ours})); len(broken) != 0 {
		t.Errorf("%+v", broken)
	}
}
