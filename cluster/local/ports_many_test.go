package local_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/test/labtest"
)

// manyPorts are as many of each tier on each node as a round of 24 pods takes.
const manyPorts = `ports:
- {tier: macvlan, parent: eth0, count: 3, nodes: [n1], addresses: 10.77.0.11/24}
- {tier: macvlan, parent: eth0, count: 3, nodes: [n2], addresses: 10.77.0.31/24}
- {tier: bridge, parent: br0, count: 3, addresses: 10.78.0.11/24}
- {tier: xdp, parent: fast, count: 3, addresses: 10.79.0.11/24}
- {tier: switch, count: 3}
`

// manyTiers are those of manyPorts: interfaces, and a socket.
var manyTiers = []string{"macvlan", "bridge", "xdp", "switch"}

// TestTwentyPodsFiftyTimes makes twenty pods with ports of several tiers at once and deletes them at once, fifty
// times, and kills the driver, the kubelets and containerd in between. The short form is one round of twelve, in
// which no driver is killed: the kubelet takes a minute after each to call the new one.
func TestTwentyPodsFiftyTimes(t *testing.T) {
	c := newCluster(t)
	file := filepath.Join(t.TempDir(), "ports.yaml")
	if err := os.WriteFile(file, []byte(manyPorts), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("up", "--nodes", "2", "--ports", file, "--name", c.name)
	before := map[string]string{}
	for _, node := range []string{"n1", "n2"} {
		c.inNode(node, false, "ip", "link", "add", "br0", "up", "type", "bridge")
		before[node] = c.devicesOf(node)
	}
	for _, tier := range manyTiers {
		c.templateOf(tier)
	}
	rounds, count := 1, 12
	if labtest.Long() {
		rounds, count = 50, 20
	}
	times := map[string][]time.Duration{}
	for round := range rounds {
		// Each fifth has the drivers killed, so that the long form ends within its time.
		c.roundOfPods(t, fmt.Sprint("r", round), count, labtest.Long() && round%5 == 0, times)
	}
	for node, devices := range before {
		c.noPortsLeft(node)
		if now := c.devicesOf(node); now != devices {
			t.Errorf("%s has the devices %q, and had %q", node, now, devices)
		}
	}
	c.whole(t)
	for _, tier := range manyTiers {
		took := times[tier]
		slices.Sort(took)
		t.Logf("%s: %d pods, from made to ready: median %s, 90 %% %s, longest %s", tier, len(took), took[len(took)/2], took[len(took)*9/10], took[len(took)-1])
	}
}

// templateOf makes a template of claims of a tier.
func (c *cluster) templateOf(tier string) {
	c.t.Helper()
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: tier},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "port", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: tier + ".nines.dev"}},
		}}}},
	}
	eventually(c.t, "make the template "+tier, func(ctx context.Context) error {
		_, err := c.client().ResourceV1().ResourceClaimTemplates("default").Create(ctx, template, metav1.CreateOptions{})
		return err
	})
}

// roundOfPods makes pods with ports, and kills what serves them meanwhile: each pod gets a port, no two the same,
// and all come back. It adds how long each took to be ready to those of its tier.
func (c *cluster) roundOfPods(t *testing.T, prefix string, count int, killDrivers bool, times map[string][]time.Duration) {
	t.Helper()
	var pods []string
	for i := range count {
		pods = append(pods, fmt.Sprintf("%s-%d", prefix, i))
		// One of each tier on one node, then on the other.
		c.withPort(pods[i], []string{"n1", "n2"}[i/len(manyTiers)%2], manyTiers[i%len(manyTiers)])
		switch {
		case i == 4:
			c.kill(t, "n1", "kubelet")
		case i == 6:
			c.kill(t, "n2", "containerd")
		case killDrivers && (i == 2 || i == 8):
			c.killDrivers()
		}
	}
	for i, name := range pods {
		c.running(name)
		tier := manyTiers[i%len(manyTiers)]
		if tier == "switch" {
			c.kubectl("exec", name, "--", "test", "-S", "/run/nines/ports/port/s")
		} else {
			c.address(name, "net1")
		}
		times[tier] = append(times[tier], readyAfter(c.pod(name)))
	}
	c.eachPortOnce(t)
	if killDrivers {
		c.killDrivers()
	}
	c.gone(pods...)
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
