package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/local"
	"nines.dev/nines/test/labtest"
)

// TestWhatGoesWrongOnNodes kills the kubelet and the API server at each step of a pod's life, and then
// a whole node, as one that loses its power.
func TestWhatGoesWrongOnNodes(t *testing.T) {
	labtest.LongForm(t)
	c := newCluster(t)
	c.must("up", "--nodes", "2", "--name", c.name)
	for i, program := range []struct{ part, name string }{{"n1", "kubelet"}, {local.ControlName, "kube-apiserver"}} {
		for k, step := range lifeOfAPod {
			t.Run(fmt.Sprintf("%s is killed when a pod is %s", program.name, step.name), func(t *testing.T) {
				c.livesThrough(t, fmt.Sprintf("pod-%d-%d", i, k), 90_000+10*i+k, step, program.part, program.name)
			})
		}
	}
	t.Run("a node is gone", c.loses)
}

// stepOfAPod is a moment of a pod's life, by what the API server has of it.
type stepOfAPod struct {
	name    string
	reached func(*v1.Pod) bool
	// ending is true for a pod that is being deleted.
	ending bool
}

var lifeOfAPod = []stepOfAPod{
	{name: "made", reached: func(*v1.Pod) bool { return true }},
	{name: "bound", reached: func(p *v1.Pod) bool { return p.Spec.NodeName != "" }},
	{name: "given a network", reached: func(p *v1.Pod) bool { return hasCondition(p, v1.PodReadyToStartContainers) }},
	{name: "running", reached: func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning }},
	{name: "being deleted", reached: func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning }, ending: true},
}

func hasCondition(p *v1.Pod, kind v1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == kind && c.Status == v1.ConditionTrue })
}

// livesThrough kills a program at a step of a new pod, whose process is known by how long it sleeps. The
// pod then runs once, or is gone if it was to go.
func (c *cluster) livesThrough(t *testing.T, name string, seconds int, step stepOfAPod, part, program string) {
	c.t = t
	c.whole(t)
	kill := c.killer(t, part, program)
	pods := c.client().CoreV1().Pods("default")
	grace := int64(1)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			NodeSelector:                  map[string]string{"kubernetes.io/hostname": "n1"},
			TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{
				Name: "it", Image: local.BusyboxImage, ImagePullPolicy: v1.PullNever, Command: []string{"sleep", strconv.Itoa(seconds)},
			}},
		},
	}
	eventually(t, "make pod "+name, func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	eventually(t, "the pod is "+step.name, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err == nil && !step.reached(pod) {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	if step.ending {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kill()
	c.whole(t)
	if !step.ending {
		eventually(t, "the pod runs", func(ctx context.Context) error {
			pod, err := pods.Get(ctx, name, metav1.GetOptions{})
			if err == nil && (pod.Status.Phase != v1.PodRunning || len(pod.Status.ContainerStatuses) != 1) {
				err = fmt.Errorf("it is %s", pod.Status.Phase)
			}
			if err == nil && pod.Status.ContainerStatuses[0].RestartCount != 0 {
				t.Fatalf("it was started %d times more", pod.Status.ContainerStatuses[0].RestartCount)
			}
			return err
		})
		// A container counts as running a moment before its process is the program that it is to be.
		eventually(t, "its process runs", func(context.Context) error {
			switch n := sleepers(t, seconds); n {
			case 1:
				return nil
			case 0:
				return errNotYet
			default:
				t.Fatalf("%d of its processes run", n)
				return nil
			}
		})
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the pod is gone", func(ctx context.Context) error {
		if _, err := pods.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		if n := sleepers(t, seconds); n != 0 {
			return fmt.Errorf("%d of its processes run", n)
		}
		return nil
	})
}

// sleepers are the processes of the host, and so of all nodes, that sleep for so long.
func sleepers(t *testing.T, seconds int) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		text, _ := os.ReadFile(path) // one that has ended has none
		if string(text) == "sleep\x00"+strconv.Itoa(seconds)+"\x00" {
			n++
		}
	}
	return n
}

// loses kills the first process of a node, and with it all of the node. No further pod with a latency
// request goes there, though its figures are good.
func (c *cluster) loses(t *testing.T) {
	c.t = t
	c.whole(t)
	c.measure("n2", 10)
	c.requests("there", "p99 < 100us")
	c.isOn(t, "there", "n2")
	for _, part := range c.status(t).Parts {
		if part.Name == "n2" {
			if err := syscall.Kill(part.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the node is missed", func(ctx context.Context) error {
		status := c.status(t)
		if status.Condition != local.ConditionBroken {
			return fmt.Errorf("the cluster is %s", status.Condition)
		}
		node, err := c.client().CoreV1().Nodes().Get(ctx, "n2", metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == v1.TaintNodeUnreachable }) {
			err = fmt.Errorf("its taints are %v", node.Spec.Taints)
		}
		return err
	})
	c.measure("n1", 20)
	for _, name := range []string{"later-1", "later-2", "later-3"} {
		c.requests(name, "p99 < 100us")
		c.isOn(t, name, "n1")
	}
	// An object of figures without a node is no node.
	if err := c.client().CoreV1().Nodes().Delete(t.Context(), "n2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.requests("last", "p99 < 100us")
	c.isOn(t, "last", "n1")
}

func (c *cluster) isOn(t *testing.T, pod, node string) {
	t.Helper()
	eventually(t, "pod "+pod+" is placed", func(context.Context) error {
		switch on := c.pod(pod).Spec.NodeName; on {
		case "":
			return fmt.Errorf("%w: %+v", errNotYet, c.pod(pod).Status.Conditions)
		case node:
			return nil
		default:
			t.Fatalf("it is on %s, not on %s", on, node)
			return nil
		}
	})
}

// measure publishes a figure of a node, as its agent does.
func (c *cluster) measure(node string, us int64) {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.session.KubeconfigPath())
	if err != nil {
		c.t.Fatal(err)
	}
	latencies, err := client.New(config)
	if err != nil {
		c.t.Fatal(err)
	}
	now, upper := time.Now(), us*1000+1
	_, err = latencies.Create(c.t.Context(), &v1alpha1.NodeLatency{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Figures: []v1alpha1.Figure{{
			Tier: "sriov", Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean,
			Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: us * 1000, UpperNs: &upper}},
			MeasuredAt:  metav1.NewTime(now.Add(-time.Minute)), ValidUntil: metav1.NewTime(now.Add(time.Hour)),
		}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
}
