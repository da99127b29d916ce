package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/request"
	"nines.dev/nines/host"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// measured is a figure of veth whose p99 is so large.
func measured(p99 time.Duration, at time.Time) []v1alpha1.Figure {
	ns := p99.Nanoseconds()
	return []v1alpha1.Figure{{
		Tier: "veth", Way: v1alpha1.OneWay, Count: 100_000, Verdict: v1alpha1.Clean,
		Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: ns, UpperNs: &ns}},
		MeasuredAt:  metav1.NewTime(at), ValidUntil: metav1.NewTime(at.Add(15 * time.Minute)),
	}}
}

// placed is a pod that the scheduler has placed by a latency request.
func placed(name, text string) v1.Pod {
	return v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "uid-of-" + "it", Annotations: map[string]string{
			request.Annotation: text, request.Placed: "{}",
		}},
		Spec: v1.PodSpec{NodeName: "n1"}, Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

var node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}

func TestANodeThatGotSlowBreaksItsPromises(t *testing.T) {
	ended := placed("ended", "p99 < 100us")
	ended.Status.Phase = v1.PodSucceeded
	unplaced := placed("by-hand", "p99 < 100us")
	delete(unplaced.Annotations, request.Placed)
	for name, test := range map[string]struct {
		pod     v1.Pod
		figures []v1alpha1.Figure
		broken  bool
		known   bool
	}{
		"still fast":                     {placed("a", "p99 < 100us"), measured(50*time.Microsecond, now), false, false},
		"slow now":                       {placed("a", "p99 < 100us"), measured(143*time.Microsecond, now), true, true},
		"too old":                        {placed("a", "p99 < 100us"), measured(50*time.Microsecond, now.Add(-time.Hour)), true, false},
		"nothing measured":               {placed("a", "p99 < 100us"), nil, true, false},
		"any other will do":              {placed("a", "p99 < 100us else any"), measured(143*time.Microsecond, now), false, false},
		"a pod that ended":               {ended, measured(143*time.Microsecond, now), false, false},
		"not placed by us":               {unplaced, measured(143*time.Microsecond, now), false, false},
		"another is unknown":             {placed("a", "p99 < 100us; to: n2"), measured(143*time.Microsecond, now), true, false},
		"a latency request that is none": {placed("a", "as fast as you can"), measured(143*time.Microsecond, now), false, false},
	} {
		broken := Judge(View{Node: node, Pods: []v1.Pod{test.pod}, Figures: test.figures, Peers: map[string][]string{"n2": {"n2"}}, Now: now})
		if (len(broken) > 0) != test.broken || test.broken && broken[0].Known != test.known {
			t.Errorf("%s: %+v", name, broken)
		}
	}
	broken := Judge(View{Node: node, Pods: []v1.Pod{placed("a", "p99 < 100us")}, Figures: measured(143*time.Microsecond, now), Now: now})
	if !strings.Contains(broken[0].Reason, "node n1: p99 of veth is 143 µs") {
		t.Errorf("%q", broken[0].Reason)
	}
}

// TestTheClusterIsToldOnce follows a node that gets slow, stays so, and gets fast again.
func TestTheClusterIsToldOnce(t *testing.T) {
	pod := placed("a", "p99 < 100us")
	kube := fake.NewClientset(node.DeepCopy(), &pod)
	a := &Agent{Node: "n1", Kube: kube, Metrics: NewMetrics()}
	told := func(p99 time.Duration) (*v1.NodeCondition, int) {
		t.Helper()
		ctx := context.Background()
		now, err := kube.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		view := View{Node: now, Pods: []v1.Pod{pod}, Figures: measured(p99, time.Now().Add(-time.Second)), Now: time.Now()}
		if err := a.judge(ctx, view, nil); err != nil {
			t.Fatal(err)
		}
		if now, err = kube.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		events, err := kube.CoreV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return conditionOf(now), len(events.Items)
	}
	for i, step := range []struct {
		p99    time.Duration
		status v1.ConditionStatus
		events int
	}{
		{50 * time.Microsecond, v1.ConditionTrue, 0},
		{143 * time.Microsecond, v1.ConditionFalse, 1},
		{150 * time.Microsecond, v1.ConditionFalse, 1},
		{50 * time.Microsecond, v1.ConditionTrue, 1},
	} {
		condition, events := told(step.p99)
		if condition == nil || condition.Status != step.status || events != step.events {
			t.Errorf("step %d: %+v and %d events", i, condition, events)
		}
	}
}

func TestLabelsSayWhatTheNodeHas(t *testing.T) {
	inv := &host.Inventory{
		NICs: []host.NIC{
			{Name: "eth0", State: "up"},                          // the management's: no VFs
			{Name: "ens1", State: "up", NumVFs: 4},               // cabled
			{Name: "ens2", State: "down", NumVFs: 8},             // not
			{Name: "br0", State: "up", NumVFs: 9, Virtual: true}, // nonsense
		},
		Features: []host.Feature{{Name: host.FeatureOVSDPDK, State: host.StateYes}},
		CPUs:     []host.CPU{{ID: 0}, {ID: 1, Isolated: true}},
	}
	labels := Labels(inv, nil, map[string]bool{"veth": true, "sriov": false})
	for name, want := range map[string]string{
		"dpdk": "4", "ovs-dpdk": "true", "tier.nines.dev/veth": "true", "tier.nines.dev/sriov": "", "nines.dev/isolated-cpus": "1", "nines.dev/kernel-rt": "",
	} {
		if got, there := labels[name]; got != want || !there {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

// TestATierIsShownOnceItWasMeasured: what a node seems to have may not work.
func TestATierIsShownOnceItWasMeasured(t *testing.T) {
	tiers, err := measure.Tiers([]string{"veth", "bridge", "macvlan", "xdp"})
	if err != nil {
		t.Fatal(err)
	}
	before := node.DeepCopy()
	before.Labels = map[string]string{"tier.nines.dev/bridge": "true", "tier.nines.dev/xdp": "true"}
	invalid := measured(time.Microsecond, now)[0]
	invalid.Tier, invalid.Verdict = "macvlan", v1alpha1.Invalid
	a := &Agent{Tiers: tiers}
	shown := a.shown(before, tiers[:3], append(measured(time.Microsecond, now), invalid))
	for name, want := range map[string]bool{
		"veth":    true,  // measured now
		"bridge":  true,  // and before
		"macvlan": false, // never
		"xdp":     false, // before, and the node has lost it
	} {
		if got, there := shown[name]; got != want || !there {
			t.Errorf("%s is %t", name, got)
		}
	}
}

func TestLabelsThatAreGoneAreRemoved(t *testing.T) {
	before := node.DeepCopy()
	before.Labels = map[string]string{"dpdk": "4", "ovs-dpdk": "true", "other": "stays"}
	kube := fake.NewClientset(before)
	a := &Agent{Node: "n1", Kube: kube}
	if err := a.label(context.Background(), before, map[string]string{"dpdk": "2", "ovs-dpdk": ""}); err != nil {
		t.Fatal(err)
	}
	got, err := kube.CoreV1().Nodes().Get(context.Background(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(got.Labels)
	if string(text) != `{"dpdk":"2","other":"stays"}` {
		t.Errorf("%s", text)
	}
}

func TestAnObjectHasRoomForTheNewestFigures(t *testing.T) {
	figures := measured(time.Microsecond, now)
	for i := range 300 {
		to := measured(time.Microsecond, now.Add(time.Duration(i)*time.Minute))[0]
		to.Tier, to.Peer = measure.NodeNetwork, fmt.Sprint("n", i)
		figures = append([]v1alpha1.Figure{to}, figures...)
	}
	kept := bounded(figures)
	if len(kept) != mostFigures || kept[0].Tier != "veth" || kept[1].Peer != "n299" || kept[mostFigures-1].Peer != "n173" {
		t.Errorf("%d, from %+v to %+v", len(kept), kept[0], kept[len(kept)-1])
	}
}

// TestThePolicyAllowsWhatTheAgentSets: the admission policy lists the labels and conditions.
func TestThePolicyAllowsWhatTheAgentSets(t *testing.T) {
	manifest, err := deploy.Agent()
	if err != nil {
		t.Fatal(err)
	}
	set := []string{string(ConditionHolds), string(ConditionFit)}
	for name := range Labels(&host.Inventory{}, nil, map[string]bool{"veth": true}) {
		if strings.HasPrefix(name, labelTier) {
			name = labelTier
		}
		set = append(set, name)
	}
	for _, name := range set {
		if !strings.Contains(string(manifest), "'"+name+"'") {
			t.Errorf("the policy does not list %s", name)
		}
	}
}
