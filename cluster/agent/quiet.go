package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/kernel/cputime"
)

// obstacle is why a trial is skipped or was ended: a word for counting, and a sentence.
type obstacle struct{ kind, text string }

func (o *obstacle) Error() string { return o.text }

// quietly runs a trial if nothing on the node prevents it, and ends it when a pod arrives that requests
// isolation. Of such a trial only the cost counts. The budget is charged with what the trial has used.
func (a *Agent) quietly(ctx context.Context, cost func() error, trial func(context.Context) error) (*obstacle, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	quiet, settle, why := a.quiet(ctx, cost)
	if why != nil {
		return why, nil
	}
	err := trial(quiet)
	settle()
	if errors.As(context.Cause(quiet), &why) {
		return why, nil
	}
	return nil, err
}

// quiet returns what on the node prevents a trial now. If nothing does, it charges the trial's cost to the
// budget, and the function that it returns settles that once the trial has ended. The context ends with ctx, or when a
// pod arrives that requests isolation: its cause is then an obstacle.
func (a *Agent) quiet(ctx context.Context, cost func() error) (quiet context.Context, settle func(), why *obstacle) {
	quiet, end := context.WithCancelCause(ctx)
	if why := a.guard(quiet, end); why != nil {
		return nil, nil, why
	}
	idle, err := cputime.Idle(quiet, time.Second)
	if why := new(obstacle); errors.As(context.Cause(quiet), &why) {
		return nil, nil, why
	}
	if err != nil {
		return nil, nil, &obstacle{"unknown", err.Error()}
	}
	if busy := measure.Busy(idle, a.Idle); busy != "" {
		return nil, nil, &obstacle{"busy", busy}
	}
	if err := cost(); err != nil {
		return nil, nil, &obstacle{"budget", err.Error()}
	}
	return quiet, a.meter(), nil
}

// meter begins to count the CPU time of a trial, in which the agent's own is included. The function that it returns
// settles the last charge of the budget by it; where nothing can be counted, that stays the most that a trial can use.
func (a *Agent) meter() (settle func()) {
	if a.Used == nil {
		return func() {}
	}
	before, err := a.Used()
	return func() {
		if err != nil {
			return
		}
		if after, err := a.Used(); err == nil {
			a.Account.Settle(after - before)
		}
	}
}

// guard returns the pod of the node that a trial would disturb. If there is none, it ends the context when one
// arrives. Without knowing which pods are there, or arrive, a trial might disturb one.
func (a *Agent) guard(ctx context.Context, end context.CancelCauseFunc) *obstacle {
	there, err := a.pods(ctx)
	if err != nil {
		return &obstacle{"unknown", err.Error()}
	}
	if why := isolated(there.Items); why != nil {
		return why
	}
	since := a.ofNode()
	since.ResourceVersion = there.ResourceVersion
	coming, err := a.Kube.CoreV1().Pods("").Watch(ctx, since)
	if err != nil {
		return &obstacle{"unknown", fmt.Sprintf("watch the node's pods: %v", err)}
	}
	go func() {
		defer coming.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-coming.ResultChan():
				if why := arrival(event); why != nil {
					end(why)
					return
				}
			}
		}
	}()
	return nil
}

// arrival returns whether a pod's event prevents a trial. A watch that has ended delivers one without a pod.
func arrival(event watch.Event) *obstacle {
	pod, is := event.Object.(*v1.Pod)
	switch {
	case !is:
		return &obstacle{"unknown", "the API server no longer reports which pods arrive on the node"}
	case event.Type == watch.Deleted:
		return nil
	}
	return isolated([]v1.Pod{*pod})
}

// isolated is nil if a trial disturbs none of the pods.
func isolated(pods []v1.Pod) *obstacle {
	if p := measure.Disturbs(pods); p != nil {
		return &obstacle{"isolation", fmt.Sprintf("pod %s/%s requests isolation", p.Namespace, p.Name)}
	}
	return nil
}

// pods lists the pods on this node.
func (a *Agent) pods(ctx context.Context) (*v1.PodList, error) {
	list, err := a.Kube.CoreV1().Pods("").List(ctx, a.ofNode())
	if err != nil {
		return nil, fmt.Errorf("list the node's pods: %w", err)
	}
	return list, nil
}

func (a *Agent) ofNode() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.Node).String()}
}
