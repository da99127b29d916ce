package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// byLatency has pods whose claims choose ports by what was measured, which the test says, and a pod whose claim
// is of two ports.
//
//	by-latency  waits, as nothing is measured; then it has the fast one, of n1
//	fair        may be on n2 only, and has what is fair there
//	two         has net1 and net2, of what was measured lately
func (c *cluster) byLatency(t *testing.T) {
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports-by-latency.yaml"))
	for _, words := range []string{"request port/fast: 1 of class port.nines.dev", "without nines.dev/p9999Ns", "taken by default/", "cannot allocate all claims"} {
		c.explains("by-latency", words)
	}
	c.measured("n1", 50*time.Microsecond)
	c.measured("n2", 5*time.Millisecond)
	c.has("by-latency", "n1", "port/fast", 1)
	c.explains("by-latency", "of node n1")

	c.measured("n2", 500*time.Microsecond)
	c.withPort("fair", "n2", "by-latency")
	c.has("fair", "n2", "port/fair", 1)

	lately := fmt.Sprintf(`device.attributes["nines.dev"].?measuredAt.orValue("") >= %q`, time.Now().UTC().Add(-2*time.Hour).Format(time.RFC3339))
	_, err := c.client().ResourceV1().ResourceClaimTemplates("default").Create(t.Context(), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "two"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "ports", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "macvlan.nines.dev", Count: 2,
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: lately}}},
			}},
		}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.withPort("two", "n1", "two")
	c.has("two", "n1", "ports", 2)
	if first, second := c.address("two", "net1"), c.address("two", "net2"); first == second {
		t.Errorf("both interfaces have the address %s", first)
	}
	c.gone("by-latency", "fair", "two")
	c.kubectl("delete", "nodelatency", "n1", "n2")
}

// explains waits until nines says something of a pod.
func (c *cluster) explains(pod, words string) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("explain %s: %q", pod, words), func(context.Context) error {
		out, _, err := c.run("explain", pod, "--name", c.name)
		if err != nil || !strings.Contains(out, words) {
			return fmt.Errorf("%w: %s", errNotYet, out)
		}
		return nil
	})
}

// measured publishes a figure of macvlan within a node, as its agent would: each percentile is the same.
func (c *cluster) measured(node string, latency time.Duration) {
	c.t.Helper()
	ns, now := latency.Nanoseconds(), time.Now()
	figure := v1alpha1.Figure{
		Tier: "macvlan", Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean,
		MeasuredAt: metav1.NewTime(now.Add(-time.Minute)), ValidUntil: metav1.NewTime(now.Add(time.Hour)),
	}
	for _, p := range []string{"50", "99", "99.99"} {
		figure.Percentiles = append(figure.Percentiles, v1alpha1.Percentile{P: p, ValueNs: ns, UpperNs: &ns})
	}
	text, err := json.Marshal(v1alpha1.NodeLatency{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: node}, Figures: []v1alpha1.Figure{figure},
	})
	file := filepath.Join(c.t.TempDir(), node+".json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.kubectl("apply", "--filename", file)
}

// has waits until a pod runs, and holds its claim against what it should have: so many ports of the card of a
// node, by a request.
func (c *cluster) has(pod, node, request string, count int) {
	c.t.Helper()
	c.running(pod)
	claims, err := c.client().ResourceV1().ResourceClaims("default").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, claim := range claims.Items {
		if ownerOf(claim) != pod {
			continue
		}
		results := claim.Status.Allocation.Devices.Results
		if len(results) != count {
			c.t.Errorf("pod %s has %d ports", pod, len(results))
		}
		for _, r := range results {
			if r.Request != request || r.Pool != node || !strings.HasPrefix(r.Device, "macvlan-eth0-") {
				c.t.Errorf("pod %s has %s of %s by its request %s", pod, r.Device, r.Pool, r.Request)
			}
		}
	}
	for i := range count {
		if got := c.address(pod, fmt.Sprintf("net%d", i+1)); !strings.HasPrefix(got, "10.77.0.") {
			c.t.Errorf("pod %s has the address %q", pod, got)
		}
	}
}
