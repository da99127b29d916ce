package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/diagnosis"
	"nines.dev/nines/cluster/request"
)

// EvictKey is the annotation with which a pod asks never to be evicted: "never".
const EvictKey = request.EvictAnnotation

// Evictor moves pods away from a node that has become too slow for them, one at a time.
type Evictor struct {
	Kube    kubernetes.Interface
	Objects *client.Client
	// Every is the minimum time between two evictions.
	Every time.Duration

	last time.Time
}

// Stays returns why a pod must not be evicted, whatever the other nodes offer; empty if it may be.
func Stays(pod *v1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	switch {
	case pod.Annotations[EvictKey] == "never":
		return "its annotation " + EvictKey + " says never"
	case pod.DeletionTimestamp != nil:
		return "it is already terminating"
	case owner == nil:
		return "no controller would recreate it"
	case owner.Kind == "DaemonSet":
		return "a DaemonSet would recreate it on this node"
	case owner.Kind == "Node":
		return "it is a static pod of this node"
	}
	return ""
}

// evict evicts a pod whose request is known not to be met, and was measured again, if another node would meet
// it. If a PodDisruptionBudget forbids it, the next round tries again.
func (a *Agent) evict(ctx context.Context, v View, broken []Broken) error {
	if a.Evictor == nil {
		return nil
	}
	for _, b := range broken {
		if !b.Known || !a.confirmed[b.Pod.UID] {
			continue
		}
		if time.Since(a.Evictor.last) < a.Evictor.Every {
			return nil
		}
		pod := b.Pod.Namespace + "/" + b.Pod.Name
		why := Stays(b.Pod)
		var to string
		if why == "" {
			var err error
			if to, err = a.Evictor.goal(ctx, b.Pod, v.Node.Name); err != nil {
				return err
			}
			if to == "" {
				why = "no other node meets its latency request and has room for it"
			}
		}
		if why != "" {
			slog.Info("not evicted", "pod", pod, "reason", why)
			a.Metrics.evictions.WithLabelValues("stays").Inc()
			continue
		}
		switch err := a.Evictor.evict(ctx, b.Pod); {
		case apierrors.IsTooManyRequests(err):
			slog.Info("not evicted now", "pod", pod, "reason", err)
			a.Metrics.evictions.WithLabelValues("refused").Inc()
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			// It is gone, or another pod has its name.
		case err != nil:
			a.Metrics.evictions.WithLabelValues("failed").Inc()
			return fmt.Errorf("evict pod %s: %w", pod, err)
		default:
			a.Evictor.last = time.Now()
			a.Metrics.evictions.WithLabelValues("evicted").Inc()
			return a.event(ctx, b.Pod, "LatencyEvicted", fmt.Sprintf("%s; node %s meets the request", b.Reason, to))
		}
	}
	return nil
}

// goal returns a node that would take the pod and meet its request, by the figures of all nodes and
// Kubernetes' own filters; empty if there is none.
func (e *Evictor) goal(ctx context.Context, pod *v1.Pod, from string) (string, error) {
	// As its controller will recreate it: on no node.
	replacement := pod.DeepCopy()
	replacement.Spec.NodeName = ""
	cluster, err := diagnosis.Around(ctx, e.Kube, e.Objects, replacement)
	if err != nil {
		return "", err
	}
	for _, row := range diagnosis.Of(cluster).Nodes {
		if row.Node != from && row.Holds {
			return row.Node, nil
		}
	}
	return "", nil
}

// evict requests an eviction, so PodDisruptionBudgets apply. The UID limits it to the pod that was judged, in
// case another has its name now.
func (e *Evictor) evict(ctx context.Context, pod *v1.Pod) error {
	return e.Kube.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policy.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	})
}
