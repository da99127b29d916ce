package pod

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"nines.dev/nines/lab/node"
)

// retryAfter is the pause before an API server that does not answer is asked again.
const retryAfter = time.Second

// Keep returns when the pod has ended, and says how. An API server that does not answer is no end of
// the pod: it is asked until it does.
func (c *Client) Keep(ctx context.Context, p node.Pod) error {
	for {
		now, err := c.kube.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsNotFound(err):
			return fmt.Errorf("pod %s/%s was deleted", p.Namespace, p.Name)
		case err == nil && gone(now, p):
			return fmt.Errorf("pod %s/%s has ended: %s %s", p.Namespace, p.Name, now.Status.Reason, now.Status.Message)
		case err == nil:
			c.awaitChange(ctx, now)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryAfter):
		}
	}
}

// gone is true if what has the pod's name is another pod, or one that runs no more.
func gone(now *v1.Pod, p node.Pod) bool {
	return string(now.UID) != p.UID || now.Status.Phase == v1.PodFailed || now.Status.Phase == v1.PodSucceeded
}

// awaitChange returns when the pod changes, or the API server ends the watch.
func (c *Client) awaitChange(ctx context.Context, seen *v1.Pod) {
	watch, err := c.kube.CoreV1().Pods(seen.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, seen.Name).String(), ResourceVersion: seen.ResourceVersion,
	})
	if err != nil {
		return
	}
	defer watch.Stop()
	select {
	case <-ctx.Done():
	case <-watch.ResultChan():
	}
}
