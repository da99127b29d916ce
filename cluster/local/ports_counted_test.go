package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// countedPorts take their part of what a parent has for all of them.
const countedPorts = `
  - {tier: xdp, parent: counted, count: 4, mbit: 400, addresses: 10.81.0.11/24}
links:
- {parent: counted, mbit: 1000}
`

// overXDP has pods of one node reach each other by XDP programs, also one that another driver's process gave its port.
//
//	one: net1 ── [XDP] ─┬─ [XDP] ── net1 :other
//	late: net1 ── [XDP] ┘
func (c *cluster) overXDP(t *testing.T) {
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-xdp.yaml"))
	c.reaches(t, "one", "other", "net1")
	node := c.nodeOf("one")
	if labtest.Long() { // the kubelet takes a minute to call a driver again that it did not reach
		c.killDrivers()
		c.kubectl("--namespace", "nines", "rollout", "status", "daemonset/nines-ports", "--timeout=180s")
	}
	c.withPort("late", node, "xdp-interface")
	c.reaches(t, "one", "late", "net1")
	c.reaches(t, "late", "other", "net1")
}

// overAFXDP has programs in two pods of one node receive by sockets in maps that nines has made, without the
// capabilities to make any.
func (c *cluster) overAFXDP(t *testing.T) {
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-af-xdp.yaml"))
	c.running("polls")
	c.running("polls-too")
	end := func(pod string) podEnd {
		seen := c.seenBy(pod)
		return podEnd{pod, seen.MAC, client.Port{Backend: "xdp", Interface: seen.Interface, Map: seen.SocketMap}}
	}
	c.packetsPass(t, end("polls"), end("polls-too"))
}

// beside has a pod measure a port that another one has, which keeps it.
func (c *cluster) beside(t *testing.T) {
	// In a namespace that nobody has allowed it, it is refused.
	file := repositoryFile("examples/cluster/manifests/ports-for-measuring.yaml")
	yes := true
	_, err := c.client().ResourceV1().ResourceClaims("default").Create(t.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "not-allowed"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "port.nines.dev", AdminAccess: &yes}},
		}}},
	}, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "admin-access") {
		t.Errorf("admin access in the namespace default: %v", err)
	}
	// All ports of the node are taken.
	var pods []string
	for i := range 8 {
		pods = append(pods, fmt.Sprint("full-", i))
		c.withPort(pods[i], "n1", "xdp-interface")
	}
	c.kubectl("apply", "--filename", file)
	c.kubectl("--namespace", "measuring", "wait", "--for=condition=Ready", "pod/meter", "--timeout=180s")
	eventually(t, "a pod measures beside another one", func(context.Context) error {
		pods, err := c.client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if strings.HasPrefix(pod.Name, "full-") && pod.Status.Phase == v1.PodRunning {
				out, _, err := c.run("kubectl", "--name", c.name, "--", "--namespace", "measuring", "exec", "meter", "--",
					"ping", "-c", "2", "-W", "5", "-I", "net1", c.address(pod.Name, "net1"))
				if err != nil || !strings.Contains(out, " 0% packet loss") {
					return fmt.Errorf("%w: %s", errNotYet, out)
				}
				return nil
			}
		}
		return fmt.Errorf("%w: no pod runs", errNotYet)
	})
	c.eachPortOnce(t)
	c.kubectl("delete", "namespace", "measuring")
	c.gone(pods...)
}

// byBandwidth has pods wait for what others have of a device, and of a link.
//
//	metered  10000 Mbit/s: wide 6000, then no room for another 6000
//	counted   1000 Mbit/s: two ports of 400, then no room for a third
func (c *cluster) byBandwidth(t *testing.T) {
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-by-bandwidth.yaml"))
	c.running("wide")
	node := c.nodeOf("wide")
	if got := c.kubectl("exec", "wide", "--", "cat", "/etc/nines/ports.json"); !strings.Contains(got, `"mbit": 6000`) && !strings.Contains(got, `"mbit":6000`) {
		t.Errorf("it sees %s", got)
	}
	c.explains("wide", "it has xdp-metered of node "+node+", 6k nines.dev/mbit")
	c.withPort("wider", node, "six-gigabit")
	c.waitsFor("wider", "1 takes 6k nines.dev/mbit of xdp-metered, of which 4k of 10k is free; the rest is held by default/wide")

	c.template("counted", "xdp.nines.dev", `device.attributes["nines.dev"].parent == "counted"`)
	c.withPort("first", node, "counted")
	c.withPort("second", node, "counted")
	c.reaches(t, "first", "second", "net1")
	c.withPort("third", node, "counted")
	c.waitsFor("third", "2 take 400 mbit of link-counted, of which 200 of 1k is free; the rest is held by default/first, default/second")

	// A released port is allocated again.
	c.gone("wide", "first")
	c.reaches(t, "third", "second", "net1")
	c.running("wider")
	if a, b := c.address("wider", "net1"), c.address("third", "net1"); !strings.HasPrefix(a, "10.80.0.") || !strings.HasPrefix(b, "10.81.0.") {
		t.Errorf("they have the addresses %s and %s", a, b)
	}
	c.gone("wider", "second", "third")
}

// waitsFor waits until Kubernetes has not placed a pod, and nines says why.
func (c *cluster) waitsFor(pod, words string) {
	c.t.Helper()
	c.explains(pod, "cannot allocate all claims")
	c.explains(pod, words)
	if node := c.nodeOf(pod); node != "" {
		c.t.Errorf("pod %s is on node %s", pod, node)
	}
}

// nodeOf is the node of a pod; empty for none.
func (c *cluster) nodeOf(pod string) (node string) {
	c.t.Helper()
	eventually(c.t, "read pod "+pod, func(ctx context.Context) error {
		object, err := c.client().CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err == nil {
			node = object.Spec.NodeName
		}
		return err
	})
	return node
}
