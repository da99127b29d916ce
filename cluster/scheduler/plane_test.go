package scheduler_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/diagnosis"
	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/exit"
)

// plane is a control plane with the scheduler and what is measured in it.
type plane struct{ *controltest.Plane }

// TestPlacing runs against a real control plane (see package controltest), one test after the
// other, each with nodes of its own.
func TestPlacing(t *testing.T) {
	p := plane{controltest.Start(t)}
	p.Apply(t, deploy.SchedulerRoles)
	t.Run("without the definition the scheduler says what to do", p.withoutDefinition)
	p.Apply(t, v1alpha1.CRD)
	controltest.Eventually(t, "the API server serves the definition", func(ctx context.Context) error {
		_, err := p.Latencies.List(ctx, metav1.ListOptions{})
		return err
	})
	t.Run("the API server holds figures to their definition", p.definition)
	t.Run("what is double and lost is counted", p.countsFates)
	p.StartScheduler(t)
	for _, one := range []struct {
		name string
		test func(*testing.T)
	}{
		{"a pod goes where its request holds", p.requestHolds},
		{"a pod without a latency request leaves fast nodes free", p.leavesFastFree},
		{"a refused pod says what stood in the way", p.saysWhy},
		{"a large cluster's event names the nearest", p.namesNearest},
		{"a new figure wakes a pod", p.figureWakes},
		{"a wake-up is never lost", p.noLostWakeUp},
		{"figures of a deleted object do not count", p.deleted},
		{"a latency request that is wrong can be mended", p.mended},
		{"to another node", p.toAnother},
		{"fallback only where the pod allows it", p.fallback},
		{"the thesis's annotation", p.thesis},
		{"ports are counted, freed, and never given twice", p.ports},
		{"a scheduler that is killed gives no port twice", p.killed},
		{"devices: never one in two claims", p.devices},
		{"a claim's first alternative, on a fast node", p.alternatives},
		{"a device that someone takes meanwhile", p.takenMeanwhile},
		{"claims, figures and a node that go in mid-bind", p.vanishing},
		{"what goes wrong at each step", p.steps},
		{"clocks that are wrong, and figures that contradict themselves", p.untrusted},
		{"two ends that contradict each other", p.contradictingEnds},
		{"the API server starts again", p.restarted},
	} {
		if !t.Run(one.name, one.test) && t.Failed() {
			t.Logf("after %q:", one.name)
		}
		p.Clear(t)
	}
}

// figure is sound, new and of 10 million packets, with the same value for each percentile.
func figureOf(tier, peer string, us int64) v1alpha1.Figure {
	now := time.Now()
	f := v1alpha1.Figure{
		Tier: tier, Peer: peer, Way: v1alpha1.OneWay, Count: 10_000_000, Verdict: v1alpha1.Clean,
		MeasuredAt: metav1.NewTime(now.Add(-time.Minute)), ValidUntil: metav1.NewTime(now.Add(time.Hour)),
	}
	for _, percent := range []string{"50", "99", "99.99"} {
		upper := us*1000 + 1
		f.Percentiles = append(f.Percentiles, v1alpha1.Percentile{P: percent, ValueNs: us * 1000, UpperNs: &upper})
	}
	return f
}

func stale(f v1alpha1.Figure) v1alpha1.Figure {
	f.MeasuredAt, f.ValidUntil = metav1.NewTime(time.Now().Add(-time.Hour)), metav1.NewTime(time.Now().Add(-time.Minute))
	return f
}

// measure publishes a node's figures, as its agent does.
func (p plane) measure(t *testing.T, node string, figures ...v1alpha1.Figure) {
	t.Helper()
	if err := p.publish(t.Context(), node, figures...); err != nil {
		t.Fatal(err)
	}
}

// publish is measure for several clients at once: a late one tries again.
func (p plane) publish(ctx context.Context, node string, figures ...v1alpha1.Figure) error {
	object := &v1alpha1.NodeLatency{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: node}, Figures: figures,
	}
	return retry.RetryOnConflict(manyTries, func() error {
		known, err := p.Latencies.Get(ctx, node)
		switch {
		case apierrors.IsNotFound(err):
			_, err = p.Latencies.Create(ctx, object)
		case err == nil:
			object.ResourceVersion = known.ResourceVersion
			_, err = p.Latencies.Update(ctx, object)
		}
		return err
	})
}

// manyTries is for objects that several change at once on a busy host: of them one succeeds at a time.
var manyTries = wait.Backoff{Steps: 30, Duration: 10 * time.Millisecond, Factor: 1.2, Jitter: 1}

// seen waits until the scheduler has read all that was measured so far: its watch has an order, and
// the last in it is of a node that takes only the pod which asks.
func (p plane) seen(t *testing.T) {
	t.Helper()
	name := "sync-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	p.Node(t, name, map[string]string{"name": name}, corev1.Taint{Key: "sync", Effect: corev1.TaintEffectNoSchedule})
	p.measure(t, name, figureOf("memif", "", 1))
	p.Pod(t, name, request("p99 < 10us"), on(name), func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "sync", Operator: corev1.TolerationOpExists}}
	})
	p.Bound(t, name)
}

func (p plane) withoutDefinition(t *testing.T) {
	p.LaunchScheduler(t)
	if said := p.SchedulerEnded(t); !strings.Contains(said, "apply cluster/api/v1alpha1/crd.yaml before the scheduler starts") {
		t.Errorf("it says\n%s", said)
	}
}

func request(text string) map[string]string { return map[string]string{"nines.dev/latency": text} }

func thesis(us string) map[string]string { return map[string]string{"latency": us} }

func (p plane) requestHolds(t *testing.T) {
	p.Node(t, "slow", nil)
	p.Node(t, "fast", nil)
	p.Node(t, "unknown", nil)
	p.measure(t, "slow", figureOf("veth", "", 400))
	p.measure(t, "fast", figureOf("sriov", "", 60), figureOf("veth", "", 400))
	for i := range 5 {
		name := "request-" + strconv.Itoa(i)
		p.Pod(t, name, request("p99.99 < 100us"))
		pod := p.Bound(t, name)
		if pod.Spec.NodeName != "fast" {
			t.Errorf("pod %s is on node %s", name, pod.Spec.NodeName)
		}
		promise := promised(t, pod)
		if promise.Tier != "sriov" || promise.Limit != "p99.99 < 100us" || promise.BoundNs != 60_001 || promise.MeasuredAt == nil {
			t.Errorf("pod %s has the promise %+v", name, promise)
		}
	}
	// What veth holds too is not put on the fast node.
	p.Pod(t, "modest", request("p99.99 < 500us"))
	if pod := p.Bound(t, "modest"); pod.Spec.NodeName != "slow" {
		t.Errorf("a pod that needs no fast tier is on node %s", pod.Spec.NodeName)
	}
}

func (p plane) leavesFastFree(t *testing.T) {
	p.Node(t, "fast", nil)
	p.Node(t, "labelled", map[string]string{"dpdk": "2"})
	p.Node(t, "plain", nil)
	p.measure(t, "fast", figureOf("sriov", "", 8))
	p.seen(t)
	for i := range 10 {
		name := "ordinary-" + strconv.Itoa(i)
		p.Pod(t, name, nil)
		pod := p.Bound(t, name)
		if pod.Spec.NodeName != "plain" {
			t.Errorf("pod %s is on node %s", name, pod.Spec.NodeName)
		}
		if _, found := pod.Annotations["nines.dev/placed"]; found {
			t.Errorf("pod %s, which requested nothing, was promised something", name)
		}
	}
}

func (p plane) saysWhy(t *testing.T) {
	p.Node(t, "n1", nil)
	p.Node(t, "n2", nil)
	p.Node(t, "n3", nil)
	p.measure(t, "n2", figureOf("sriov", "", 143))
	p.measure(t, "n3", stale(figureOf("sriov", "", 10)))
	p.seen(t)
	p.Pod(t, "refused", request("p99.99 < 100us"))
	why := p.Refused(t, "refused")
	for _, words := range []string{
		"0/4 nodes are available", "node n1: nothing is measured",
		"node n2: p99.99 of sriov is 143 µs, 100 µs requested, measured 1 min ago", "node n3: sriov was measured 1 h ago, which is too old to count",
	} {
		if !strings.Contains(why, words) {
			t.Errorf("%q is not in\n%s", words, why)
		}
	}
	// `nines cluster explain` says the same of each node.
	seen, err := diagnosis.Read(t.Context(), p.Config, "default", "refused")
	if err != nil {
		t.Fatal(err)
	}
	report := diagnosis.Of(seen)
	if len(report.Nodes) != 4 || report.Scheduler != why {
		t.Fatalf("explain: %+v", report)
	}
	for _, row := range report.Nodes {
		if row.Suits || row.Node[0] == 'n' && !strings.Contains(why, "node "+row.Node+": "+row.Latency) {
			t.Errorf("explain says of node %s: suits %v, %s", row.Node, row.Suits, row.Latency)
		}
	}
	if _, err := diagnosis.Read(t.Context(), p.Config, "default", "nobody"); exit.Code(err) != exit.Wrong {
		t.Errorf("a pod that is not there: %v", err)
	}
}

func (p plane) namesNearest(t *testing.T) {
	for i := range 12 {
		name := "n" + strconv.Itoa(i)
		p.Node(t, name, nil)
		p.measure(t, name, figureOf("veth", "", int64(200+i)))
	}
	p.seen(t)
	p.Pod(t, "refused", request("p99.99 < 100us"))
	why := p.Refused(t, "refused")
	for _, words := range []string{"12 nodes are slower than p99.99 of 100 µs", "closest to the requested latency: node n0: p99.99 of veth is 200 µs", "node n2: "} {
		if !strings.Contains(why, words) {
			t.Errorf("%q is not in\n%s", words, why)
		}
	}
	if strings.Contains(why, "node n3: ") {
		t.Errorf("more than the nearest three are in\n%s", why)
	}
}

func (p plane) figureWakes(t *testing.T) {
	p.Node(t, "n1", nil)
	p.measure(t, "n1", stale(figureOf("sriov", "", 10)))
	p.Pod(t, "waits", request("p99.99 < 100us"))
	p.Refused(t, "waits")
	begin := time.Now()
	p.measure(t, "n1", figureOf("sriov", "", 10))
	p.Bound(t, "waits")
	t.Logf("from the new figure to the bound pod: %s", time.Since(begin).Round(time.Millisecond))
}

// New figures come at every moment of a pod's tries: while it waits, as here, and while it is tried,
// as it is made at the same time.
func (p plane) noLostWakeUp(t *testing.T) {
	p.Node(t, "n1", map[string]string{"name": "n1"})
	for i := range 30 {
		name := "waits-" + strconv.Itoa(i)
		p.measure(t, "n1", figureOf("sriov", "", 200))
		// Figures and pods come to the scheduler by two watches, which have no order.
		controltest.Eventually(t, "the scheduler sees the slow figure", p.refuses("p99.99 < 100us", on("n1")))
		p.Pod(t, name, request("p99.99 < 100us"), on("n1"))
		p.Refused(t, name)
		p.measure(t, "n1", figureOf("sriov", "", 50))
		p.Bound(t, name)
		node := "new-" + strconv.Itoa(i)
		p.Pod(t, node, request("p99.99 < 100us"), on(node))
		p.Node(t, node, map[string]string{"name": node})
		p.measure(t, node, figureOf("sriov", "", 50))
		p.Bound(t, node)
	}
}

func (p plane) deleted(t *testing.T) {
	p.Node(t, "n1", nil)
	p.measure(t, "n1", figureOf("sriov", "", 10))
	p.Pod(t, "first", request("p99 < 100us"))
	p.Bound(t, "first")
	if err := p.Latencies.Delete(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	controltest.Eventually(t, "the scheduler sees that the figures are gone", p.refuses("p99 < 100us"))
	p.measure(t, "n1", figureOf("sriov", "", 10))
	p.Pod(t, "again", request("p99 < 100us"))
	p.Bound(t, "again")
}

func (p plane) mended(t *testing.T) {
	p.Node(t, "n1", nil)
	p.measure(t, "n1", figureOf("veth", "", 50))
	p.Pod(t, "wrong", request("fast"))
	if why := p.Refused(t, "wrong"); !strings.Contains(why, `annotation nines.dev/latency: "fast" is not a limit; write a percentile`) {
		t.Errorf("it says %s", why)
	}
	p.annotate(t, "wrong", "nines.dev/latency", "p99 < 100us")
	p.Bound(t, "wrong")
}

func (p plane) toAnother(t *testing.T) {
	for _, name := range []string{"n1", "n2"} {
		p.Node(t, name, nil)
	}
	p.Node(t, "database", map[string]string{"role": "database"})
	p.cordon(t, "database")
	p.measure(t, "n1", figureOf("vxlan", "database", 400), figureOf("vxlan", "", 10))
	// What the other end has measured counts as well.
	p.measure(t, "database", figureOf("vxlan", "n2", 80))
	for name, to := range map[string]string{"by-name": "database", "by-label": "role=database"} {
		p.Pod(t, name, request("p99 < 100us; to: "+to))
		if pod := p.Bound(t, name); pod.Spec.NodeName != "n2" || promised(t, pod).Peer != "database" {
			t.Errorf("%s: on node %s with the promise %+v", name, pod.Spec.NodeName, promised(t, pod))
		}
	}
	p.Pod(t, "nobody", request("p99 < 100us; to: role=nobody"))
	p.Refused(t, "nobody")
	// A node that gets the label can be reached.
	p.label(t, "n2", "role", "nobody")
	p.measure(t, "n2", figureOf("vxlan", "", 20))
	p.Bound(t, "nobody")
}

func (p plane) fallback(t *testing.T) {
	p.Node(t, "n1", nil)
	p.measure(t, "n1", figureOf("veth", "", 400))
	p.Pod(t, "strict", request("p99 < 100us"))
	p.Refused(t, "strict")
	p.Pod(t, "second", request("p99 < 100us else p99 < 1ms"))
	if promise := promised(t, p.Bound(t, "second")); promise.Limit != "p99 < 1ms" || promise.Fallback {
		t.Errorf("the second limit is promised as %+v", promise)
	}
	p.Pod(t, "any", request("p99 < 100us else any"))
	if promise := promised(t, p.Bound(t, "any")); !promise.Fallback || promise.Limit != "" {
		t.Errorf("any node is promised as %+v", promise)
	}
}

func (p plane) restarted(t *testing.T) {
	p.Node(t, "n1", nil)
	p.measure(t, "n1", figureOf("sriov", "", 200))
	for i := range 10 {
		p.Pod(t, "waits-"+strconv.Itoa(i), request("p99 < 100us"))
	}
	p.RestartAPIServer(t)
	for i := range 10 {
		p.Pod(t, "later-"+strconv.Itoa(i), request("p99 < 100us"))
	}
	p.measure(t, "n1", figureOf("sriov", "", 50))
	for i := range 10 {
		p.Bound(t, "waits-"+strconv.Itoa(i))
		p.Bound(t, "later-"+strconv.Itoa(i))
	}
}

// on selects a node for a pod.
func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"name": node} }
}
