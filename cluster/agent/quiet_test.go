package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"nines.dev/nines/cluster/agent/measure"
)

// lonely requests isolation on its node.
func lonely() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lonely", Namespace: "default", Annotations: map[string]string{measure.IsolationKey: "cpu"}},
		Spec:       v1.PodSpec{NodeName: "n1"},
	}
}

func TestWhichArrivalsATrialHasToGiveWayTo(t *testing.T) {
	ordinary, ended := lonely(), lonely()
	ordinary.Annotations, ended.Status.Phase = nil, v1.PodSucceeded
	for name, test := range map[string]struct {
		event watch.Event
		kind  string
	}{
		"a pod that asks to be alone":   {watch.Event{Type: watch.Added, Object: lonely()}, "isolation"},
		"one that asks for it later":    {watch.Event{Type: watch.Modified, Object: lonely()}, "isolation"},
		"one that goes":                 {watch.Event{Type: watch.Deleted, Object: lonely()}, ""},
		"one that has ended":            {watch.Event{Type: watch.Modified, Object: ended}, ""},
		"an ordinary one":               {watch.Event{Type: watch.Added, Object: ordinary}, ""},
		"an API server that says no":    {watch.Event{Type: watch.Error, Object: &metav1.Status{}}, "unknown"},
		"an API server that is no more": {watch.Event{}, "unknown"},
	} {
		why := arrival(test.event)
		if (why != nil) != (test.kind != "") || why != nil && why.kind != test.kind {
			t.Errorf("%s: %v", name, why)
		}
	}
}

// begun are trials during which a pod comes that requests isolation. A trial that continues beside it is bad.
type begun struct{ kube kubernetes.Interface }

func (b begun) Run(ctx context.Context, _ measure.Tier, _ measure.Load) (measure.Trial, error) {
	if _, err := b.kube.CoreV1().Pods("default").Create(ctx, lonely(), metav1.CreateOptions{}); err != nil {
		return measure.Trial{}, err
	}
	select {
	case <-ctx.Done():
		return measure.Trial{}, ctx.Err()
	case <-time.After(time.Minute):
		return took(time.Microsecond, time.Now()), nil
	}
}

// quietAgent is an agent of a node on which nothing is yet.
func quietAgent() *Agent {
	kube := fake.NewClientset(node.DeepCopy())
	return &Agent{
		Node: "n1", Kube: kube, Metrics: NewMetrics(), Runner: begun{kube}, Slot: measure.NewSlot(),
		Budget: measure.Budget{CPU: time.Hour, Packets: 1 << 30}, window: measure.Window{Length: time.Hour},
	}
}

func TestATrialGivesWayToAPodThatAsksToBeAlone(t *testing.T) {
	a := quietAgent()
	tiers, err := measure.Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	counts, why, err := a.within(t.Context(), tiers[0])
	if counts || err != nil || why == nil || why.kind != "isolation" {
		t.Errorf("it counts: %t; %v, %v", counts, why, err)
	}
	if figures, err := a.window.Figures(time.Now()); err != nil || len(figures) > 0 {
		t.Errorf("published is %+v, %v", figures, err)
	}
}

// TestATrialOfAnotherNodeGivesWay: what it is told ends then.
func TestATrialOfAnotherNodeGivesWay(t *testing.T) {
	a := quietAgent()
	var used time.Duration
	a.Used = func() (time.Duration, error) { return used, nil }
	fit, settle, err := a.FitFor(t.Context(), "n2", measure.Load{RatePPS: 1000, FrameBytes: 64, Duration: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Kube.CoreV1().Pods("default").Create(t.Context(), lonely(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-fit.Done():
	case <-time.After(time.Minute):
	}
	if why := new(obstacle); !errors.As(context.Cause(fit), &why) || why.kind != "isolation" {
		t.Errorf("it ends by %v", context.Cause(fit))
	}
	used = 70 * time.Millisecond
	if settle(); a.Account.Spent(time.Now()).CPU != used {
		t.Errorf("the budget is charged with %s", a.Account.Spent(time.Now()).CPU)
	}
	if _, _, err := a.FitFor(t.Context(), "n2", measure.Load{}); err == nil {
		t.Error("it is fit beside the pod")
	}
}
