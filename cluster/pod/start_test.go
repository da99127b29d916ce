package pod

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"

	"nines.dev/nines/kernel/await"
)

// TestWhatAPodWaitsFor: its user gets the reasons of the scheduler and the kubelet.
func TestWhatAPodWaitsFor(t *testing.T) {
	unscheduled := &v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{
		{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: "0/2 nodes are available: 2 Insufficient cpu."},
	}}}
	pulling := &v1.Pod{Spec: v1.PodSpec{NodeName: "n1"}, Status: v1.PodStatus{
		Conditions:        []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{{State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}},
	}}
	for _, test := range []struct {
		of   *v1.Pod
		want string
	}{
		{nil, ""},
		{&v1.Pod{}, ""},
		{unscheduled, "no node accepts it: 0/2 nodes are available: 2 Insufficient cpu."},
		{pulling, "on node n1: ErrImagePull not found"},
	} {
		if got := reason(test.of); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		late := errors.New("it did not run within 3m0s")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(late)
		want := "wait until it runs: " + late.Error()
		if test.want != "" {
			want += ": " + test.want
		}
		err := await.Until(ctx, await.Condition{What: "it runs", Holds: func(context.Context) error { return waits(test.of) }})
		if !errors.Is(err, late) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
