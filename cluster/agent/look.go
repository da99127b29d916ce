package agent

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/request"
)

// look reads what the agent needs to judge: the current figures, including those that a previous agent
// published, and the targets of the pods' requests.
func (a *Agent) look(ctx context.Context, node *v1.Node) (View, error) {
	v := View{Node: node, Now: time.Now(), Peers: map[string][]string{}, Others: map[string][]v1alpha1.Figure{}}
	pods, err := a.pods(ctx)
	if err != nil {
		return v, err
	}
	v.Pods = pods.Items
	if v.Figures, err = a.figures(ctx, v.Now); err != nil {
		return v, err
	}
	for i := range v.Pods {
		if r := promised(&v.Pods[i]); r != nil && r.To != nil && v.Peers[r.To.Text] == nil {
			if v.Peers[r.To.Text], err = a.target(ctx, r.To); err != nil {
				return v, err
			}
		}
	}
	for _, nodes := range v.Peers {
		for _, other := range nodes {
			if _, read := v.Others[other]; read || other == node.Name {
				continue
			}
			object, err := a.Objects.Get(ctx, other)
			switch {
			case apierrors.IsNotFound(err):
				object = &v1alpha1.NodeLatency{}
			case err != nil:
				return v, fmt.Errorf("read the figures of node %s: %w", other, err)
			}
			v.Others[other] = object.Figures
		}
	}
	return v, nil
}

// figures returns the figures of the agent's own trials, and those published earlier that are still valid.
func (a *Agent) figures(ctx context.Context, now time.Time) ([]v1alpha1.Figure, error) {
	figures, err := a.window.Figures(now)
	if err != nil {
		return nil, err
	}
	object, err := a.Objects.Get(ctx, a.Node)
	switch {
	case apierrors.IsNotFound(err):
		return figures, nil
	case err != nil:
		return nil, fmt.Errorf("read the figures of node %s: %w", a.Node, err)
	}
	return append(figures, others(object.Figures, figures)...), nil
}

// target returns the nodes that a latency request names as its target.
func (a *Agent) target(ctx context.Context, to *request.Target) ([]string, error) {
	if to.Labels == nil {
		return to.Nodes, nil
	}
	list, err := a.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: to.Labels.String(), ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list the nodes with %s: %w", to.Text, err)
	}
	names := []string{}
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names, nil
}
