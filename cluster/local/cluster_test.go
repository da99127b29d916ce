package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/local"
)

// TestACluster makes one, and looks at it from all sides: a cluster takes half a minute to make.
//
//	host ── relay ── control ── bridge ── n1 ── pod a
//	                                  └── n2 ── pod b
func TestACluster(t *testing.T) {
	c := newCluster(t)
	// As from a script that holds a lock.
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	c.files = []*os.File{writer}
	said := c.must("up", "--nodes", "2", "--name", c.name)
	c.files = nil
	writer.Close()
	if err := reader.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the cluster keeps a file of its maker open: %v", err)
	}
	if !strings.Contains(said, "node n1 is ready") || !strings.Contains(said, "is up: 2 nodes") {
		t.Errorf("up said %q", said)
	}
	c.runPod("a", "n1")
	c.runPod("b", "n2")

	t.Run("PodsReachEachOther", func(t *testing.T) {
		address := strings.TrimSpace(c.must("kubectl", "--name", c.name, "--", "get", "pod", "b", "-o", "jsonpath={.status.podIP}"))
		out := c.must("kubectl", "--name", c.name, "--", "exec", "a", "--", "ping", "-c", "2", "-W", "5", address)
		if !strings.Contains(out, " 0% packet loss") {
			t.Error(out)
		}
	})
	t.Run("PodsReachTheAPIServerByItsService", func(t *testing.T) {
		// By name there is none: a local cluster has no DNS. What answers must be the API server.
		out := c.must("kubectl", "--name", c.name, "--", "exec", "a", "--", "sh", "-c",
			"echo | nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT && echo connected")
		if !strings.Contains(out, "connected") {
			t.Error(out)
		}
	})
	t.Run("LogsOfAPod", func(t *testing.T) {
		if out := c.must("kubectl", "--name", c.name, "--", "logs", "a"); !strings.Contains(out, "hello from a") {
			t.Errorf("its log: %q", out)
		}
	})
	t.Run("ASecondOfTheNameIsRefused", func(t *testing.T) {
		out, _, err := c.run("up", "--name", c.name)
		if code := exitCode(err); code != 2 || !strings.Contains(out, "is already up") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("AKilledKubeletIsStartedAgain", func(t *testing.T) { c.kill(t, "n1", "kubelet"); c.whole(t) })
	t.Run("AKilledContainerdKeepsItsPods", func(t *testing.T) {
		c.kill(t, "n2", "containerd")
		c.whole(t)
		c.runPod("c", "n2")
		if pod := c.pod("b"); pod.Status.Phase != v1.PodRunning || pod.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("pod b: %s, restarted %d times", pod.Status.Phase, pod.Status.ContainerStatuses[0].RestartCount)
		}
	})
	t.Run("AKilledAPIServerLosesNothing", func(t *testing.T) {
		c.kill(t, local.ControlName, "kube-apiserver")
		c.whole(t)
		for _, name := range []string{"a", "b"} {
			if pod := c.pod(name); pod.Status.Phase != v1.PodRunning {
				t.Errorf("pod %s: %s", name, pod.Status.Phase)
			}
		}
	})
	c.must("down", "--name", c.name)
	if out, _, err := c.run("status", "--name", c.name); exitCode(err) != 2 || !strings.Contains(out, "does not exist") {
		t.Errorf("after down: %s", out)
	}
}

// runPod runs a pod on a node, and returns when it runs.
func (c *cluster) runPod(name, node string) {
	c.t.Helper()
	zero := int64(0)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			NodeSelector:                  map[string]string{"kubernetes.io/hostname": node},
			TerminationGracePeriodSeconds: &zero,
			Containers: []v1.Container{{
				Name: "it", Image: local.BusyboxImage, ImagePullPolicy: v1.PullNever,
				Command: []string{"sh", "-c", "echo hello from " + name + "; exec sleep 100000"},
			}},
		},
	}
	eventually(c.t, "make pod "+name, func(ctx context.Context) error {
		_, err := c.client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	eventually(c.t, "run pod "+name, func(ctx context.Context) error {
		got, err := c.client().CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && (got.Status.Phase != v1.PodRunning || got.Spec.NodeName != node) {
			text, _ := json.Marshal(got.Status)
			err = fmt.Errorf("on %q: %s", got.Spec.NodeName, text)
		}
		return err
	})
}

func (c *cluster) pod(name string) *v1.Pod {
	c.t.Helper()
	var pod *v1.Pod
	eventually(c.t, "read pod "+name, func(ctx context.Context) (err error) {
		pod, err = c.client().CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return pod
}

func (c *cluster) status(t testing.TB) local.Status {
	t.Helper()
	var status local.Status
	if err := json.Unmarshal([]byte(c.must("status", "--name", c.name, "--format", "json")), &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// whole waits until every program of the cluster runs and every node is ready.
func (c *cluster) whole(t testing.TB) {
	t.Helper()
	eventually(t, "the cluster becomes whole", func(context.Context) error {
		status := c.status(t)
		if status.Condition != local.ConditionUp || status.API != "" {
			return fmt.Errorf("it is %s: %s", status.Condition, status.API)
		}
		for _, part := range status.Parts {
			if part.Name != local.ControlName && !part.Ready {
				return fmt.Errorf("node %s is not ready", part.Name)
			}
			for _, p := range part.Programs {
				if p.PID == 0 && !p.Done {
					return fmt.Errorf("%s on %s does not run: %s", p.Name, part.Name, p.Ended)
				}
			}
		}
		return nil
	})
}

// kill kills a program of a part, and waits until it was started again.
func (c *cluster) kill(t testing.TB, part, program string) {
	t.Helper()
	c.killer(t, part, program)()
}

// killer finds a program of a part, and returns what kills it and waits until it was started again.
func (c *cluster) killer(t testing.TB, part, program string) (kill func()) {
	t.Helper()
	before, first, pid := c.find(t, part, program)
	return func() {
		t.Helper()
		// The program's number is that of the part's own namespace.
		out, err := exec.Command("nsenter", "--target", fmt.Sprint(first), "--pid", "--mount", "kill", "-KILL", fmt.Sprint(pid)).CombinedOutput()
		if err != nil {
			t.Fatalf("kill %s: %v: %s", program, err, out)
		}
		eventually(t, program+" is started again", func(context.Context) error {
			if starts, _, _ := c.find(t, part, program); starts <= before {
				return errors.New("it is not")
			}
			return nil
		})
	}
}

// find tells of a program how often it was started, its part's first process on this host, and its
// own number in the part.
func (c *cluster) find(t testing.TB, part, program string) (starts, first, pid int) {
	t.Helper()
	for _, p := range c.status(t).Parts {
		for _, q := range p.Programs {
			if p.Name == part && q.Name == program {
				return q.Starts, p.PID, q.PID
			}
		}
	}
	t.Fatalf("there is no %s on %s", program, part)
	return 0, 0, 0
}

func exitCode(err error) int {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return ended.ExitCode()
	}
	return -1
}
