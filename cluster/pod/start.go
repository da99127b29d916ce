package pod

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/node"
)

// startPatience bounds the wait until a pod runs: a busy cluster, and a registry that sends the image.
const startPatience = 3 * time.Minute

// pollEvery is how often a pod is looked at while it starts or goes.
const pollEvery = 100 * time.Millisecond

// tellAfter is how long a pod may wait before its user learns the reason.
const tellAfter = 3 * time.Second

// Start makes a pod, and returns when it runs. If a pod waits for long, it reports for what, each time that changes.
func (c *Client) Start(ctx context.Context, o node.PodOrder, tell func(string)) (node.Pod, error) {
	manifest, err := Manifest(o)
	if err != nil {
		return node.Pod{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("it did not run within %v", startPatience))
	defer cancel()
	made, err := c.kube.CoreV1().Pods(o.Namespace).Create(ctx, manifest, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return node.Pod{}, exit.Wrongf("pod %s/%s already exists, and belongs to another lab or program; set another prefix in the file (--set prefix=…), or cluster.namespace", o.Namespace, o.Name)
	case apierrors.IsForbidden(err):
		return node.Pod{}, exit.Wrongf("%w; nines needs the rights to create, get, watch and delete pods in the namespace, and to get and create pods/exec", err)
	case apierrors.IsNotFound(err):
		return node.Pod{}, exit.Wrongf("%w; make it, or name another in cluster.namespace", err)
	case err != nil:
		return node.Pod{}, fmt.Errorf("make pod %s/%s at %s: %w", o.Namespace, o.Name, c.config.Host, err)
	}
	p := node.Pod{PodPlace: o.PodPlace, UID: string(made.UID)}
	if err := c.claim(ctx, o, made); err != nil {
		return p, err
	}
	running, err := c.await(ctx, made, tell)
	if err != nil {
		return p, fmt.Errorf("pod %s/%s: %w", o.Namespace, o.Name, err)
	}
	p.Address, p.Host = running.Status.PodIP, running.Spec.NodeName
	if p.Ports, err = c.awaitPorts(ctx, o); err != nil {
		return p, fmt.Errorf("pod %s/%s: %w", o.Namespace, o.Name, err)
	}
	return p, c.learnHost(ctx, o, &p)
}

// await returns the pod when its container runs.
func (c *Client) await(ctx context.Context, made *v1.Pod, tell func(string)) (*v1.Pod, error) {
	var last *v1.Pod
	var told string
	began := time.Now()
	err := await.Until(ctx, await.Condition{What: "its container runs", Every: pollEvery, Holds: func(ctx context.Context) error {
		now, err := c.kube.CoreV1().Pods(made.Namespace).Get(ctx, made.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != made.UID:
			return await.Never(errors.New("it was deleted while it started"))
		case err == nil:
			if last = now; runs(now) {
				return nil
			}
			if failed := hopeless(now); failed != nil {
				return await.Never(failed)
			}
		}
		if text := reason(last); text != "" && text != told && time.Since(began) > tellAfter {
			told = text
			tell(fmt.Sprintf("pod %s/%s waits: %s", made.Namespace, made.Name, text))
		}
		return waits(last)
	}})
	return last, err
}

func runs(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodRunning && p.Status.PodIP != "" && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil
}

// hopeless says why a pod will never run; nil while it may.
func hopeless(p *v1.Pod) error {
	if p.Status.Phase == v1.PodFailed || p.Status.Phase == v1.PodSucceeded {
		return fmt.Errorf("it has ended at once: %s %s", p.Status.Reason, p.Status.Message)
	}
	for _, status := range p.Status.ContainerStatuses {
		waits := status.State.Waiting
		if waits == nil {
			continue
		}
		switch waits.Reason {
		case "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
			return exit.Wrongf("its image %s cannot be pulled: %s; name one in cluster.image that the cluster's nodes can pull, with nines-engine and nines-init in its PATH", p.Spec.Containers[0].Image, waits.Message)
		case "CreateContainerError", "RunContainerError", "CreateContainerConfigError":
			return fmt.Errorf("its container cannot be started: %s; the image of cluster.image needs nines-init in its PATH", waits.Message)
		}
	}
	return nil
}

// waits is what a pod that does not run yet waits for.
func waits(p *v1.Pod) error {
	if text := reason(p); text != "" {
		return errors.New(text)
	}
	return await.Answer(false, nil)
}

// reason says what a pod waits for; empty if nobody says so.
func reason(p *v1.Pod) string {
	if p == nil {
		return ""
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
			return "no node accepts it: " + condition.Message
		}
	}
	for _, status := range p.Status.ContainerStatuses {
		if waits := status.State.Waiting; waits != nil && waits.Reason != "" {
			return strings.TrimSpace(fmt.Sprintf("on node %s: %s %s", p.Spec.NodeName, waits.Reason, waits.Message))
		}
	}
	return ""
}

// learnHost reads what a result records of the cluster's node, and refuses a node that does not have
// the clock that the order wants. Without the right to read nodes, it does without the former.
func (c *Client) learnHost(ctx context.Context, o node.PodOrder, p *node.Pod) error {
	host, err := c.kube.CoreV1().Nodes().Get(ctx, p.Host, metav1.GetOptions{})
	switch {
	case err == nil:
		p.Kernel = host.Status.NodeInfo.KernelVersion
	case o.BootID == "":
		return nil
	default:
		return fmt.Errorf("check the clock of the cluster's node %s, as cluster.clock is shared: %w; this needs the right to get nodes", p.Host, err)
	}
	if o.BootID != "" && host.Status.NodeInfo.BootID != o.BootID {
		return exit.Wrongf("cluster.clock is shared, but the cluster's node %s is another machine with its own clock; write clock: own, and measure the round trip (from and to the same endpoint)", p.Host)
	}
	return nil
}
