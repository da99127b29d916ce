package local_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/test/labtest"
)

// manyPorts are as many as the pods of a round of TestTwentyPodsFiftyTimes.
const manyPorts = `ports:
- {tier: macvlan, parent: eth0, count: 10, nodes: [n1], addresses: 10.77.0.11/24}
- {tier: macvlan, parent: eth0, count: 10, nodes: [n2], addresses: 10.77.0.31/24}
`

// TestTwentyPodsFiftyTimes makes twenty pods with ports at once and deletes them at once, fifty times, and
// kills the driver, the kubelets and containerd in between.
func TestTwentyPodsFiftyTimes(t *testing.T) {
	labtest.LongForm(t)
	c := newCluster(t)
	file := filepath.Join(t.TempDir(), "ports.yaml")
	if err := os.WriteFile(file, []byte(manyPorts), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("up", "--nodes", "2", "--ports", file, "--name", clusterName)
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports.yaml"))
	c.kubectl("delete", "pod", "with-interface", "sender", "receiver", "left", "right")
	var times []time.Duration
	for round := range 50 {
		times = append(times, c.roundOfPods(t, fmt.Sprint("r", round), 20)...)
	}
	for _, node := range []string{"n1", "n2"} {
		c.noPortsLeft(node)
	}
	c.whole(t)
	slices.Sort(times)
	t.Logf("%d pods, from made to ready: median %s, 90 %% %s, longest %s",
		len(times), times[len(times)/2], times[len(times)*9/10], times[len(times)-1])
}

// roundOfPods makes pods with ports, as many as there are, and kills what serves them meanwhile: each pod gets
// a port, no two the same, and all come back. It returns how long each took to be ready.
func (c *cluster) roundOfPods(t *testing.T, prefix string, count int) (times []time.Duration) {
	t.Helper()
	var pods []string
	for i := range count {
		pods = append(pods, fmt.Sprintf("%s-%d", prefix, i))
		c.withPort(pods[i], []string{"n1", "n2"}[i%2], fastInterface)
		switch i {
		case 2, 8:
			c.killDrivers()
		case 4:
			c.kill(t, "n1", "kubelet")
		case 6:
			c.kill(t, "n2", "containerd")
		}
	}
	addresses := map[string]string{}
	for _, name := range pods {
		c.running(name)
		address := c.address(name, "fast0")
		if other := addresses[address]; other != "" {
			t.Errorf("%s and %s have the port with %s", name, other, address)
		}
		addresses[address] = name
		pod, err := c.client().CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, readyAfter(pod))
	}
	c.eachPortOnce(t)
	c.killDrivers()
	c.gone(pods...)
	return times
}

// readyAfter is how long a pod took from being made to being ready, in whole seconds as Kubernetes tells it.
func readyAfter(pod *v1.Pod) time.Duration {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodReady {
			return condition.LastTransitionTime.Sub(pod.CreationTimestamp.Time)
		}
	}
	return 0
}

// eachPortOnce holds the claims against each other.
func (c *cluster) eachPortOnce(t *testing.T) {
	t.Helper()
	claims, err := c.client().ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	devices := map[string]string{}
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			if other := devices[r.Pool+"/"+r.Device]; other != "" {
				t.Errorf("%s of %s is in the claims %s and %s", r.Device, r.Pool, claim.Name, other)
			}
			devices[r.Pool+"/"+r.Device] = claim.Name
		}
	}
}

// killDrivers kills the driver on every node, as kill -9 does. Kubernetes starts them again.
func (c *cluster) killDrivers() {
	c.t.Helper()
	c.killPrograms("ports")
}

// killPrograms kills what pods of a DaemonSet run of nines, which have their nodes' process IDs.
func (c *cluster) killPrograms(command string) {
	c.t.Helper()
	nodes := map[string]bool{}
	for _, part := range c.status(c.t).Parts {
		nodes[processIDs(part.PID)] = true
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range processes {
		if text, _ := os.ReadFile(path); !bytes.HasPrefix(text, []byte("/nines/nines-cluster\x00"+command+"\x00")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/cmdline", &pid); err != nil {
			c.t.Fatal(err)
		}
		// Those of another cluster beside this one are left alone.
		if process, err := os.FindProcess(pid); err == nil && nodes[processIDs(pid)] {
			_ = process.Kill() // it may have ended
		}
	}
}

// processIDs names the namespace of process IDs that a process is in; empty if it is gone.
func processIDs(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return name
}
