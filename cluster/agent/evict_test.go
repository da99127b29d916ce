package agent

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// owned is a placed pod that a controller of this kind has made; none for a pod by itself.
func owned(name, kind string) v1.Pod {
	p := placed(name, "p99 < 100us")
	p.UID = types.UID("uid-of-" + name)
	if kind != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "owner", UID: "o", Controller: &yes}}
	}
	return p
}

// room is a node that is ready and has room.
func room(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{
		Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("10"), v1.ResourceCPU: resource.MustParse("4")},
	}}
}

// listOf is what the API server says of the nodes' figures.
func listOf(t *testing.T, p99 map[string]time.Duration) string {
	t.Helper()
	list := v1alpha1.NodeLatencyList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeLatencyList"}}
	for name, latency := range p99 {
		list.Items = append(list.Items, v1alpha1.NodeLatency{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Figures: measured(latency, time.Now().Add(-time.Second)),
		})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhoIsEvicted(t *testing.T) {
	const fast, slow = 50 * time.Microsecond, 143 * time.Microsecond
	never := owned("never", "ReplicaSet")
	never.Annotations[EvictKey] = "never"
	full := room("n2")
	full.Status.Allocatable[v1.ResourcePods] = resource.MustParse("0")
	one, two := owned("one", "ReplicaSet"), owned("two", "ReplicaSet")
	for name, test := range map[string]struct {
		pods        []v1.Pod
		other       *v1.Node
		otherP99    time.Duration
		unconfirmed bool
		budgeted    []string // pods that a PodDisruptionBudget keeps
		last        time.Duration
		evicted     []string
	}{
		"one at a time":               {pods: []v1.Pod{one, two}, evicted: []string{"one"}},
		"one that a budget keeps":     {pods: []v1.Pod{one, two}, budgeted: []string{"one"}, evicted: []string{"two"}},
		"too soon after another":      {pods: []v1.Pod{one}, last: time.Minute},
		"long after another":          {pods: []v1.Pod{one}, last: time.Hour, evicted: []string{"one"}},
		"not measured again":          {pods: []v1.Pod{one}, unconfirmed: true},
		"the other node is slow, too": {pods: []v1.Pod{one}, otherP99: slow},
		"the other node is full":      {pods: []v1.Pod{one}, other: full},
		"one that asked to stay":      {pods: []v1.Pod{never, one}, evicted: []string{"one"}},
		"one that nothing makes anew": {pods: []v1.Pod{owned("bare", "")}},
		"one that would come back":    {pods: []v1.Pod{owned("daemon", "DaemonSet")}},
		"one that the kubelet runs":   {pods: []v1.Pod{owned("static", "Node")}},
		"one of a job":                {pods: []v1.Pod{owned("job", "Job")}, evicted: []string{"job"}},
	} {
		t.Run(name, func(t *testing.T) {
			other := test.other
			if other == nil {
				other = room("n2")
			}
			kube := fake.NewClientset(room("n1"), other)
			var evicted []string
			kube.PrependReactor("create", "pods", func(action k8stesting.Action) (bool, runtime.Object, error) {
				if action.GetSubresource() != "eviction" {
					return false, nil, nil
				}
				eviction := action.(k8stesting.CreateAction).GetObject().(*policy.Eviction)
				if slices.Contains(test.budgeted, eviction.Name) {
					return true, nil, apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 0)
				}
				if *eviction.DeleteOptions.Preconditions.UID != types.UID("uid-of-"+eviction.Name) {
					t.Errorf("it means any pod with the name: %+v", eviction)
				}
				evicted = append(evicted, eviction.Name)
				return true, nil, nil
			})
			otherP99 := test.otherP99
			if otherP99 == 0 {
				otherP99 = fast
			}
			a := &Agent{
				Node: "n1", Kube: kube, Metrics: NewMetrics(), confirmed: map[types.UID]bool{},
				Evictor: &Evictor{Kube: kube, Objects: unpublished(t, listOf(t, map[string]time.Duration{"n1": slow, "n2": otherP99})), Every: 10 * time.Minute},
			}
			if test.last > 0 {
				a.Evictor.last = time.Now().Add(-test.last)
			}
			for _, p := range test.pods {
				if err := kube.Tracker().Add(&p); err != nil {
					t.Fatal(err)
				}
				a.confirmed[p.UID] = !test.unconfirmed
			}
			view := View{Node: room("n1"), Pods: test.pods, Figures: measured(slow, time.Now().Add(-time.Second)), Now: time.Now()}
			broken := Judge(view)
			if len(broken) != len(test.pods) {
				t.Fatalf("%d pods are broken: %+v", len(broken), broken)
			}
			if err := a.evict(context.Background(), view, broken); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(evicted, test.evicted) {
				t.Errorf("evicted %v, not %v", evicted, test.evicted)
			}
		})
	}
}
