package diagnosis

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/request"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func node(name string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10")},
	}}
	for _, one := range change {
		one(&n)
	}
	return n
}

func measured(name string, us int64) v1alpha1.NodeLatency {
	upper := us * 1100
	return v1alpha1.NodeLatency{ObjectMeta: metav1.ObjectMeta{Name: name}, Figures: []v1alpha1.Figure{{
		Tier: "sriov", Count: 1_000_000, Verdict: v1alpha1.Clean, Percentiles: []v1alpha1.Percentile{{P: "99.99", ValueNs: us * 1000, UpperNs: &upper}},
		MeasuredAt: metav1.NewTime(now.Add(-4 * time.Minute)), ValidUntil: metav1.NewTime(now.Add(time.Hour)),
	}}}
}

func pod(annotations map[string]string, cpus string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p", Annotations: annotations}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}}}},
	}}
}

func TestEachNodeWithWhatStandsInTheWay(t *testing.T) {
	large := pod(nil, "3")
	large.UID, large.Spec.NodeName = "other", "full"
	report := Of(Cluster{
		Now: now, Pod: pod(map[string]string{request.Annotation: "p99.99 < 100us"}, "2"), Pods: []corev1.Pod{*large},
		Nodes: []corev1.Node{
			node("unknown"), node("slow"), node("fast"), node("full"),
			node("cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
			node("tainted", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }),
			node("down", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }),
		},
		Latencies: []v1alpha1.NodeLatency{
			measured("slow", 143), measured("fast", 50), measured("full", 51), measured("cordoned", 52), measured("tainted", 53), measured("down", 54),
		},
	})
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `pod default/p
latency request: p99.99 < 100us

node      suits  tier           figure  may be   measured  obstacles
fast      yes    sriov    p99.99 50 µs   55 µs  4 min ago
full      no     sriov    p99.99 51 µs 56.1 µs  4 min ago  1 of cpu is free, the pod requests 2
cordoned  no     sriov    p99.99 52 µs 57.2 µs  4 min ago  the node is cordoned
tainted   no     sriov    p99.99 53 µs 58.3 µs  4 min ago  the pod does not tolerate k:NoSchedule
down      no     sriov    p99.99 54 µs 59.4 µs  4 min ago  the node is not ready
slow      no     sriov   p99.99 143 µs  157 µs  4 min ago  p99.99 of sriov is 143 µs, 100 µs requested, measured 4 min ago
unknown   no                         -       -          -  nothing is measured
`
	if got, want := strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(want), " "); got != want {
		t.Errorf("it says\n%s", out.String())
	}
}

func TestPodsWithoutARequestAndWithAWrongOne(t *testing.T) {
	for want, annotations := range map[string]map[string]string{
		"no latency request":                         nil,
		"its latency request is invalid: annotation": {request.Annotation: "fast"},
		"is invalid: annotation latency: \"x":        {request.ThesisAnnotation: "x"},
	} {
		report := Of(Cluster{Now: now, Pod: pod(annotations, "1"), Nodes: []corev1.Node{node("n")}})
		var out bytes.Buffer
		if err := report.Write(&out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %v, %s", annotations, err, out.String())
		}
	}
}

func TestABoundPodHasItsPromise(t *testing.T) {
	p := pod(map[string]string{
		request.Annotation: "p99.99 < 100us",
		request.Placed:     `{"node":"n","tier":"sriov","limit":"p99.99 < 100us","boundNs":55000,"measuredAt":"2026-11-23T11:00:00Z"}`,
	}, "1")
	p.Spec.NodeName = "n"
	// The node no longer holds it: that is told beside the promise.
	report := Of(Cluster{Now: now, Pod: p, Pods: []corev1.Pod{*p}, Nodes: []corev1.Node{node("n")}, Latencies: []v1alpha1.NodeLatency{measured("n", 120)}})
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"node: n, placed with p99.99 < 100us by sriov: at most 55 µs", "n *", "p99.99 of sriov is 120 µs, 100 µs requested"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("%q is not in\n%s", words, out.String())
		}
	}
}
