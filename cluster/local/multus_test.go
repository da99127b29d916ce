package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPodsHavePortsByMultus has the device plugin as a DaemonSet, which installs the CNI plugin, by the
// manifests and the example that users apply.
//
//	kubelet ─ device plugin: which port        containerd ─ Multus ─ nines: makes it
func TestPodsHavePortsByMultus(t *testing.T) {
	c := newCluster(t)
	archive := filepath.Join(t.TempDir(), "agent.tar")
	c.must("image", "agent", archive)
	c.must("up", "--nodes", "1", "--multus", "--image", archive, "--name", c.name)
	c.kubectl("apply", "--filename", repositoryFile("cluster/deploy/agent/namespace.yaml"))
	c.kubectl("apply", "--kustomize", repositoryFile("cluster/deploy/multus"))
	c.kubectl("apply", "--kustomize", repositoryFile("cluster/deploy/devices"))
	c.kubectl("wait", "--for=condition=Established", "--timeout=2m", "crd/network-attachment-definitions.k8s.cni.cncf.io")
	c.offers("nines.dev/macvlan-eth0", 8)
	c.offers("nines.dev/switch", 8)
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-by-multus.yaml"))

	t.Run("AnInterface", func(t *testing.T) {
		c.running("fast")
		if got := c.address("fast", "net1"); !strings.HasPrefix(got, "10.77.0.") {
			t.Errorf("it has the address %q", got)
		}
		seen := c.sees("fast")
		if len(seen) != 1 || seen[0].Interface != "net1" || seen[0].Request != "card" || !strings.HasPrefix(seen[0].Port, "macvlan-eth0-") {
			t.Errorf("it sees %+v", seen)
		}
		c.toldOf("fast", `"interface": "net1"`)
	})
	t.Run("ASocket", func(t *testing.T) {
		c.running("socket")
		seen := c.sees("socket")
		if len(seen) != 1 || seen[0].Request != "user" || seen[0].Socket != "/run/nines/ports/"+seen[0].Port+"/s" {
			t.Fatalf("it sees %+v", seen)
		}
		c.kubectl("exec", "socket", "--", "test", "-S", seen[0].Socket)
		c.toldOf("socket", seen[0].Socket)
	})
	c.away("fast", "socket")
	eventually(t, "the node has its ports back", func(context.Context) error {
		held := c.onNode("n1", "find", "/run/nines/ports", "-mindepth", "1", "-not", "-name", ".switch")
		addresses := c.onNode("n1", "find", "/run/cni-addresses/card", "-name", "10.*")
		if held != "" || addresses != "" {
			return fmt.Errorf("%w: held: %q, addresses: %q", errNotYet, held, addresses)
		}
		return nil
	})
}

// offers waits until the node has this many devices of a resource to give.
func (c *cluster) offers(resource v1.ResourceName, count int64) {
	c.t.Helper()
	eventually(c.t, string(resource), func(ctx context.Context) error {
		node, err := c.client().CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if has := node.Status.Allocatable[resource]; has.Value() != count {
			return fmt.Errorf("%w: it has %s", errNotYet, has.String())
		}
		return nil
	})
}

// seenPort is a port in a pod's file.
type seenPort struct{ Request, Port, Kind, Interface, Socket string }

// sees are the ports in a pod's file.
func (c *cluster) sees(pod string) []seenPort {
	c.t.Helper()
	var seen struct{ Ports []seenPort }
	text := c.kubectl("exec", pod, "--", "cat", "/etc/nines/ports.json")
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return seen.Ports
}

// toldOf fails if a pod's network status, which Multus writes, lacks something.
func (c *cluster) toldOf(pod, what string) {
	c.t.Helper()
	eventually(c.t, "the network status of "+pod, func(ctx context.Context) error {
		p, err := c.client().CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := p.Annotations["k8s.v1.cni.cncf.io/network-status"]; !strings.Contains(status, what) {
			return fmt.Errorf("%w: %s", errNotYet, status)
		}
		return nil
	})
}

// away deletes pods and waits until they are gone.
func (c *cluster) away(pods ...string) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("delete %q", pods), func(ctx context.Context) error {
		left := 0
		for _, name := range pods {
			if err := c.client().CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				left++
			}
		}
		if left > 0 {
			return fmt.Errorf("%w: %d are still there", errNotYet, left)
		}
		return nil
	})
}
