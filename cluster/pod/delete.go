package pod

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/node"
)

const (
	// deletePatience bounds the wait until the kubelet has ended a pod.
	deletePatience = time.Minute
	// latePatience is how long a pod may come after the process that ordered it was killed: its
	// request may still be on its way through the API server.
	latePatience = 2 * time.Second
)

// Delete removes a pod if it is the lab's, and returns when it is gone. note gets a pod of that
// name that is not the lab's.
func (c *Client) Delete(ctx context.Context, r node.PodRemoval, note func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deletePatience, fmt.Errorf("it was not gone within %v", deletePatience))
	defer cancel()
	found, err := c.find(ctx, r)
	if err != nil || found == nil {
		return err
	}
	if !Owned(found, r) {
		note(fmt.Sprintf("pod %s/%s does not belong to this lab, and is kept", r.Namespace, r.Name))
		return nil
	}
	pods := c.kube.CoreV1().Pods(r.Namespace)
	// Only this very pod: another may get its name between the two calls.
	err = pods.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return c.failed("delete", r, err)
	}
	err = await.Until(ctx, await.Condition{What: "it is gone", Every: pollEvery, Holds: func(ctx context.Context) error {
		now, err := pods.Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return await.Answer(now.UID != found.UID, nil)
	}})
	if err != nil {
		return c.failed("delete", r, err)
	}
	return nil
}

// find is the pod of that name; nil if there is none.
func (c *Client) find(ctx context.Context, r node.PodRemoval) (*v1.Pod, error) {
	var found *v1.Pod
	_, err := await.InTime(ctx, await.Condition{What: "it is there", Within: latePatience, Every: pollEvery, Holds: func(context.Context) error {
		now, err := c.kube.CoreV1().Pods(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			found = now
			return nil
		case !apierrors.IsNotFound(err):
			return await.Never(c.failed("look for", r, err))
		}
		return await.Answer(r.UID != "", nil) // one that is known has been there
	}})
	return found, err
}

func (c *Client) failed(what string, r node.PodRemoval, err error) error {
	return fmt.Errorf("%s pod %s/%s at %s: %w; if that cluster is gone for good, remove it from your kubeconfig (kubectl config delete-context %s); nines down then leaves the pod alone",
		what, r.Namespace, r.Name, c.config.Host, err, r.Context)
}

// Owned reports whether a pod is the lab's: it has the lab's token and, where one was learnt, the uid.
// It is pure.
func Owned(p *v1.Pod, r node.PodRemoval) bool {
	return r.Token != "" && p.Labels[node.PodLabToken] == r.Token && (r.UID == "" || string(p.UID) == r.UID)
}
