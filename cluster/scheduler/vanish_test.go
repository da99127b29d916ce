package scheduler

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/request"
)

// handle is what the plugin asks of the framework outside of a cluster: informers, a client, and
// who is woken.
type handle struct {
	fwk.Handle
	cluster  kubernetes.Interface
	informer informers.SharedInformerFactory
	woken    map[string]*corev1.Pod
}

func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informer }
func (h *handle) ClientSet() kubernetes.Interface                        { return h.cluster }
func (h *handle) Activate(_ klog.Logger, pods map[string]*corev1.Pod)    { h.woken = pods }

func published(us int64, valid time.Duration) *v1alpha1.NodeLatency {
	upper := us * 1000
	return &v1alpha1.NodeLatency{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Figures: []v1alpha1.Figure{{
		Tier: "sriov", Count: 1_000_000, Verdict: v1alpha1.Clean, Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: us * 1000, UpperNs: &upper}},
		MeasuredAt: metav1.NewTime(time.Now().Add(-time.Minute)), ValidUntil: metav1.NewTime(time.Now().Add(valid)),
	}}}
}

// A pod is not lost when the figure that it was filtered by is gone before it is bound: whatever
// took it away, the pod goes back with the reason, and the next figure wakes it.
func TestAFigureThatVanishesBeforeBinding(t *testing.T) {
	for name, c := range map[string]struct {
		vanish func(*Plugin)
		reason string
	}{
		"deleted": {func(p *Plugin) { p.unmeasured(t.Context(), published(50, time.Hour)) }, "nothing is measured"},
		"slower":  {func(p *Plugin) { p.measured(t.Context(), published(200, time.Hour)) }, "is 200 µs"},
		// The clock that jumps ahead, and the time that passes while a pod waits for its devices.
		"too old by then": {func(p *Plugin) { p.now = func() time.Time { return time.Now().Add(2 * time.Hour) } }, "too old to count"},
		// And the clock that jumps back.
		"of the future": {func(p *Plugin) { p.now = func() time.Time { return time.Now().Add(-2 * time.Hour) } }, "in the future"},
	} {
		cluster := fake.NewClientset()
		h := &handle{cluster: cluster, informer: informers.NewSharedInformerFactory(cluster, 0)}
		p := newPlugin(h)
		p.measured(t.Context(), published(50, time.Hour))
		pod := podWith("a", map[string]string{request.Annotation: "p99 < 100us"})
		state, info := framework.NewCycleState(), framework.NewNodeInfo()
		info.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		if _, status := p.PreFilter(t.Context(), state, pod, []fwk.NodeInfo{info}); !status.IsSuccess() {
			t.Fatalf("%s: PreFilter: %v", name, status)
		}
		if status := p.Filter(t.Context(), state, pod, info); !status.IsSuccess() {
			t.Fatalf("%s: Filter: %v", name, status)
		}
		if status := p.PreBind(t.Context(), state, pod, "n"); !status.IsSuccess() {
			t.Fatalf("%s: PreBind while the figure is there: %v", name, status)
		}
		c.vanish(p)
		for step, status := range map[string]*fwk.Status{
			"PreBind": p.PreBind(t.Context(), state, pod, "n"),
			// It may be gone only by then: Bind looks at the pod's devices first.
			"Bind": p.Bind(t.Context(), state, pod, "n"),
		} {
			if status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), c.reason) {
				t.Errorf("%s: %s: %v, want a reason with %q", name, step, status, c.reason)
			}
		}
		if calls := cluster.Actions(); len(calls) > 0 {
			t.Errorf("%s: the API server was called by %v", name, calls)
		}
		p.Unreserve(t.Context(), state, pod, "n")
		p.now, h.woken = time.Now, nil
		p.unmeasured(t.Context(), published(50, time.Hour))
		p.measured(t.Context(), published(50, time.Hour))
		if len(h.woken) != 1 {
			t.Errorf("%s: the next figure wakes %d pods", name, len(h.woken))
		}
	}
}

// The promise is part of the binding itself: an API server that fails writes neither.
func TestThePromiseGoesWithTheBinding(t *testing.T) {
	pod := podWith("a", map[string]string{request.Annotation: "p99 < 100us"})
	cluster := fake.NewClientset(pod)
	h := &handle{cluster: cluster, informer: informers.NewSharedInformerFactory(cluster, 0)}
	p := newPlugin(h)
	p.measured(t.Context(), published(50, time.Hour))
	state := framework.NewCycleState()
	if status := p.Bind(t.Context(), state, pod, "n"); !status.IsSkip() {
		t.Errorf("a pod without a latency request in this cycle: %v, want it left to the default binder", status)
	}
	if _, status := p.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
		t.Fatal(status)
	}
	if status := p.Bind(t.Context(), state, pod, "n"); !status.IsSuccess() {
		t.Fatal(status)
	}
	actions := cluster.Actions()
	if len(actions) != 1 || actions[0].GetSubresource() != "binding" {
		t.Fatalf("the API server was called by %v, want one binding", actions)
	}
	create, ok := actions[0].(clienttesting.CreateAction)
	if !ok {
		t.Fatalf("the binding is a %T", actions[0])
	}
	binding, ok := create.GetObject().(*corev1.Binding)
	if !ok || binding.UID != pod.UID || !strings.Contains(binding.Annotations[request.Placed], `"limit":"p99 \u003c 100us"`) {
		t.Errorf("the binding is %+v", create.GetObject())
	}
}
