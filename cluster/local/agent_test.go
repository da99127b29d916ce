package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nines.dev/nines/cluster/agent"
	"nines.dev/nines/cluster/local"
	nineshost "nines.dev/nines/host"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestTheAgentMeasuresAndPodsArePlacedByIt has the agent as a DaemonSet, with a node of the host's
// own kernel under each. Its trials are short and do not wait for a quiet node: what they measure
// here is nobody's business.
func TestTheAgentMeasuresAndPodsArePlacedByIt(t *testing.T) {
	c := newCluster(t)
	archive := filepath.Join(t.TempDir(), "scheduler.tar")
	c.must("image", "scheduler", archive)
	ports := filepath.Join(t.TempDir(), "ports.yaml")
	if err := os.WriteFile(ports, []byte("ports: [{tier: macvlan, parent: eth0, count: 1}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("up", "--nodes", "2", "--agent", "--ports", ports, "--image", archive, "--name", c.name)
	c.must("kubectl", "--name", c.name, "--", "apply", "--server-side", "--filename", repositoryFile("cluster/agent/discovery/testdata/nodefeature-crd.yaml"))
	c.must("kubectl", "--name", c.name, "--", "--namespace", "nines", "patch", "daemonset", "nines-agent", "--type=json", "--patch",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["agent","--idle","0","--interval","10s","--duration","1s","--rate","200","--tiers","veth"]}]`)
	for _, node := range []string{"n1", "n2"} {
		eventually(t, "figures of "+node, func(context.Context) error {
			out, _, err := c.run("kubectl", "--name", c.name, "--", "get", "nodelatency", node, "-o",
				"jsonpath={.figures[0].tier} {.figures[0].verdict} {.figures[0].count} {.figures[0].percentiles[0].p} {.metadata.ownerReferences[0].name}")
			if err != nil || strings.Contains(out, "Invalid") {
				return errors.Join(fmt.Errorf("%w: %s", errNotYet, out), asked(c.agentLog))
			}
			fields := strings.Fields(out)
			if len(fields) != 5 || fields[0] != "veth" || fields[3] != "50" || fields[4] != node {
				return fmt.Errorf("%w: %q", errNotYet, out)
			}
			return nil
		})
	}

	t.Run("ARequestThatHolds", func(t *testing.T) {
		c.requests("requests", "p50 < 10s")
		eventually(t, "the pod is placed", func(context.Context) error {
			pod := c.pod("requests")
			if pod.Spec.NodeName == "" || !strings.Contains(pod.Annotations["nines.dev/placed"], `"tier":"veth"`) {
				return fmt.Errorf("%w: on %q, %v", errNotYet, pod.Spec.NodeName, pod.Annotations)
			}
			return nil
		})
	})
	t.Run("ARequestThatNoNodeHolds", func(t *testing.T) {
		c.requests("too-much", "p50 < 1ns")
		eventually(t, "the pod is refused with a reason", func(context.Context) error {
			for _, condition := range c.pod("too-much").Status.Conditions {
				if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse && strings.Contains(condition.Message, "p50 of veth is") {
					return nil
				}
			}
			return fmt.Errorf("%w: %+v", errNotYet, c.pod("too-much").Status.Conditions)
		})
	})
	t.Run("TheWayBetweenTheNodes", func(t *testing.T) {
		c.figureOfTheWay("node-network")
		c.requests("to-n2", "p50 < 10s; to: n2; tier: node-network")
		eventually(t, "the pod is placed", func(context.Context) error {
			pod := c.pod("to-n2")
			if pod.Spec.NodeName != "n1" || !strings.Contains(pod.Annotations["nines.dev/placed"], `"peer":"n2"`) {
				return fmt.Errorf("%w: on %q, %v", errNotYet, pod.Spec.NodeName, pod.Annotations)
			}
			return nil
		})
	})
	t.Run("TheWayOverTheNetworkOfPods", func(t *testing.T) {
		c.figureOfTheWay("macvlan")
		c.requests("over-macvlan", "p50 < 10s; to: n1; tier: macvlan")
		eventually(t, "the pod is placed", func(context.Context) error {
			pod := c.pod("over-macvlan")
			if pod.Spec.NodeName != "n2" || !strings.Contains(pod.Annotations["nines.dev/placed"], `"tier":"macvlan"`) {
				return fmt.Errorf("%w: on %q, %v", errNotYet, pod.Spec.NodeName, pod.Annotations)
			}
			return nil
		})
		for _, node := range []string{"n1", "n2"} {
			eventually(t, "the ports of trials are gone", func(context.Context) error {
				if left := c.onNode(node, "ls", "-A", "/run/nines/ports"); left != ".switch" {
					return fmt.Errorf("%w: %q", errNotYet, left)
				}
				return nil
			})
		}
	})
	t.Run("TheExampleOfPlacement", func(t *testing.T) {
		c.placesTheExample(t)
	})
	t.Run("TheNodeSaysThatItHolds", func(t *testing.T) {
		eventually(t, "the condition", func(ctx context.Context) error {
			node, err := c.client().CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range node.Status.Conditions {
				if condition.Type == "LatencyHolds" {
					return nil
				}
			}
			return errNotYet
		})
	})
	t.Run("TheNodeSaysWhatItHas", func(t *testing.T) {
		c.saysWhatItHas(t)
	})
	t.Run("TheSecondSchedulerPlacesPods", func(t *testing.T) {
		c.secondScheduler(t)
	})
	t.Run("AnAgentChangesItsOwnNodeOnly", func(t *testing.T) {
		// The admission policy may take effect some time after it was made.
		for from, allowed := range map[string]bool{"": false, "n2": false, "n1": true} {
			eventually(t, fmt.Sprintf("an agent of node %q labels n1", from), func(ctx context.Context) error {
				_, err := c.asAgentOf(from).CoreV1().Nodes().Patch(ctx, "n1", types.MergePatchType,
					[]byte(`{"metadata":{"labels":{"tier.nines.dev/by":"`+from+`"}}}`), metav1.PatchOptions{})
				if (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "may change only its own node") {
					return fmt.Errorf("allowed should be %t: %v", allowed, err)
				}
				return nil
			})
		}
	})
	t.Run("WhatIsToldOfANodeGoesWithIt", func(t *testing.T) {
		c.must("kubectl", "--name", c.name, "--", "delete", "node", "n2")
		eventually(t, "what was told of n2 is gone", func(context.Context) error {
			left := c.must("kubectl", "--name", c.name, "--", "--namespace", "nines", "get", "nodelatencies,nodefeatures", "-o", "name")
			if strings.Contains(left, "n2") || !strings.Contains(left, "nines-n1") {
				return fmt.Errorf("%w: %s", errNotYet, left)
			}
			return nil
		})
	})
	t.Run("ANodeThatRegistersAgainHasAllOfItAgain", func(t *testing.T) {
		c.registersAgain(t, "n2")
	})
}

// registersAgain has the kubelet of a deleted node register it again, while its pods run on. What belongs to the node
// belongs to the new object then.
func (c *cluster) registersAgain(t *testing.T, name string) {
	c.t = t
	c.killer(t, name, "kubelet")()
	var node *v1.Node
	eventually(t, "the node registers", func(ctx context.Context) (err error) {
		node, err = c.client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return err
	})
	for _, what := range []string{"resourceslice", "nodelatency", "nodefeature"} {
		eventually(t, "the "+what+" of the new object", func(context.Context) error {
			owners, _, err := c.run("kubectl", "--name", c.name, "--", "--namespace", "nines", "get", what, "-o",
				`jsonpath={range .items[*]}{.metadata.ownerReferences[0].uid} {end}`)
			if err != nil || !strings.Contains(owners, string(node.UID)) {
				return errors.Join(fmt.Errorf("%w: of %s, not %s", errNotYet, owners, node.UID), asked(c.agentLog), asked(c.portsLog))
			}
			return nil
		})
	}
	for _, kind := range []v1.NodeConditionType{agent.ConditionHolds, agent.ConditionFit} {
		eventually(t, fmt.Sprintf("the condition %s of the new object", kind), func(ctx context.Context) error {
			now, err := c.client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil || !slices.ContainsFunc(now.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == kind }) {
				return errors.Join(errNotYet, err, asked(c.agentLog))
			}
			return nil
		})
	}
}

// placesTheExample runs examples/cluster/placement.yaml, shortly, with a request that a busy host holds, too: a minute, and
// the median, as with many stalls nothing bounds a p99.
func (c *cluster) placesTheExample(t *testing.T) {
	nines, err := node.Program("nines")
	labtest.Require(t, "nines (make build)", err == nil)
	dir := t.TempDir()
	t.Cleanup(func() { _ = c.command(nines, "down", "placement").Run() }) // nothing is left where all went well
	out, err := c.command(nines, "run", repositoryFile("examples/cluster/placement.yaml"), "--out", dir, "--set", "request=none",
		"--set", `nodes.server.latency="p50 < 60s"`, "--set", "repeat=1", "--set", "traffic.duration=1s").CombinedOutput()
	if err != nil && !labtest.NoneValid(string(out)) {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := result.Open(filepath.Join(dir, "latest"))
	if err != nil || len(r.Summary.Trials) != 1 || isBroken(r.Summary.Trials[0]) {
		t.Fatalf("%v: %+v", err, r.Summary.Trials)
	}
}

// figureOfTheWay waits for a figure of a tier between the nodes. One of the two agents measures it, and the
// other sends its packets back.
func (c *cluster) figureOfTheWay(tier string) {
	c.t.Helper()
	eventually(c.t, "a figure of the way over "+tier, func(context.Context) error {
		out, _, err := c.run("kubectl", "--name", c.name, "--", "get", "nodelatency", "-o",
			`jsonpath={range .items[*]}{.metadata.name}{range .figures[?(@.tier=="`+tier+`")]} {.peer} {.way} {.verdict} {.count}{end}{"\n"}{end}`)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if len(f) == 5 && f[0] != f[1] && f[2] == "RoundTrip" && f[3] != "Invalid" && f[4] != "0" {
				return nil
			}
		}
		return errors.Join(fmt.Errorf("%w: %s", errNotYet, out), asked(c.agentLog))
	})
}

// saysWhatItHas waits for what the agents' pods see of their nodes, by the roles and mounts of the
// DaemonSet: they are told to Node Feature Discovery, of which only the definition is there.
func (c *cluster) saysWhatItHas(t *testing.T) {
	inventory, err := nineshost.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"n1", "n2"} {
		eventually(t, "the NodeFeature of "+node, func(context.Context) error {
			out, _, err := c.run("kubectl", "--name", c.name, "--", "--namespace", "nines", "get", "nodefeature", "nines-"+node, "-o",
				`jsonpath={.metadata.labels.nfd\.node\.kubernetes\.io/node-name} {.metadata.ownerReferences[0].name} `+
					`{.spec.features.attributes.nines\.kernel.elements.release} {.spec.features.attributes.nines\.cpu.elements.count}`)
			if wanted := fmt.Sprintf("%s %s %s %d", node, node, inventory.Kernel.Release, len(inventory.CPUs)); err != nil || out != wanted {
				return errors.Join(fmt.Errorf("%w: %q, not %q", errNotYet, out, wanted), asked(c.agentLog))
			}
			return nil
		})
		eventually(t, "whether "+node+" is fit", func(ctx context.Context) error {
			object, err := c.client().CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range object.Status.Conditions {
				if condition.Type == "FitForLatency" && !strings.Contains(condition.Message, "container") {
					return nil
				}
			}
			return fmt.Errorf("%w: %+v", errNotYet, object.Status.Conditions)
		})
	}
}

// secondScheduler runs nines' scheduler as a pod of the cluster, by kustomize and the image that
// nines makes.
func (c *cluster) secondScheduler(t *testing.T) {
	c.must("kubectl", "--name", c.name, "--", "apply", "--kustomize", repositoryFile("cluster/deploy/second"))
	c.must("kubectl", "--name", c.name, "--", "--namespace", "nines", "rollout", "status", "deployment/nines-scheduler", "--timeout=180s")
	c.placedBySecond(t)
}

// placedBySecond has the second scheduler place a pod with a latency request.
func (c *cluster) placedBySecond(t *testing.T) {
	t.Helper()
	zero := int64(0)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "second", Annotations: map[string]string{"nines.dev/latency": "p50 < 10s"}},
		Spec: v1.PodSpec{
			SchedulerName: "nines-scheduler", TerminationGracePeriodSeconds: &zero,
			Containers: []v1.Container{{Name: "it", Image: local.BusyboxImage, ImagePullPolicy: v1.PullNever, Command: []string{"sleep", "100000"}}},
		},
	}
	if _, err := c.client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second scheduler places a pod", func(context.Context) error {
		now := c.pod("second")
		if now.Spec.NodeName == "" || now.Annotations["nines.dev/placed"] == "" || now.Status.Phase != v1.PodRunning {
			return fmt.Errorf("%w: %+v", errNotYet, now.Status)
		}
		return nil
	})
}

// repositoryFile is the path of a file of the checkout.
func repositoryFile(path string) string { return filepath.Join(labtest.Repository(), path) }

// asAgentOf is a client with the rights of an agent whose pod is on a node, or with a token of no
// pod.
func (c *cluster) asAgentOf(node string) *kubernetes.Clientset {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.session.KubeconfigPath())
	if err != nil {
		c.t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nines:nines-agent", Groups: []string{"system:serviceaccounts"}}
	if node != "" {
		config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// errNotYet says that what is awaited is not so yet.
var errNotYet = errors.New("not yet")

// requests makes a pod with a latency request.
func (c *cluster) requests(name, request string) {
	c.t.Helper()
	zero := int64(0)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"nines.dev/latency": request}},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &zero,
			Containers: []v1.Container{{
				Name: "it", Image: local.BusyboxImage, ImagePullPolicy: v1.PullNever, Command: []string{"sleep", "100000"},
			}},
		},
	}
	eventually(c.t, "make pod "+name, func(ctx context.Context) error {
		_, err := c.client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func (c *cluster) agentLog() string {
	out, _, _ := c.run("kubectl", "--name", c.name, "--", "--namespace", "nines", "logs", "--selector", "app=nines-agent", "--prefix", "--tail", "5")
	return out
}
