package helm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"nines.dev/nines/cluster/scheduler/controltest"
)

// restricted is a caller of the API server whom a policy restricts: with the rights of a service account, and the node
// that its token names.
type restricted struct {
	t       *testing.T
	plane   *controltest.Plane
	account string
}

// as is a client with the account's rights, whose token names a node; none for "".
func (r restricted) as(node string) *kubernetes.Clientset {
	r.t.Helper()
	config := rest.CopyConfig(r.plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + r.account, Groups: []string{"system:serviceaccounts"}}
	if node != "" {
		config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		r.t.Fatal(err)
	}
	return client
}

// attempt is a change, and the words by which it is refused; none if it is allowed.
type attempt struct {
	what, refused string
	do            func(context.Context) error
}

// tries makes attempts. A policy and a role may take effect some time after they were made.
func (r restricted) tries(attempts []attempt) {
	r.t.Helper()
	for _, a := range attempts {
		controltest.Eventually(r.t, fmt.Sprintf("%s: %s: refused by %q", r.account, a.what, a.refused), func(ctx context.Context) error {
			switch err := a.do(ctx); {
			case a.refused == "":
				return err
			case err == nil:
				return fmt.Errorf("it is allowed")
			case !strings.Contains(err.Error(), a.refused):
				return err
			}
			return nil
		})
	}
}

// raw writes an object of the API server, at a path, in a dry run.
func raw(c *kubernetes.Clientset, path, object string) func(context.Context) error {
	return func(ctx context.Context) error {
		return c.Discovery().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").
			Param("dryRun", "All").Body([]byte(object)).Do(ctx).Error()
	}
}

// overlay is what kustomize makes of the agent and of ports in another namespace, with another prefix of names.
func overlay(t *testing.T, namespace, prefix string) []byte {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nnamePrefix: %q\nresources:\n", namespace, prefix)
	for _, folder := range []string{"agent", "ports"} {
		base, err := filepath.Abs(filepath.Join(manifests, folder))
		if err != nil {
			t.Fatal(err)
		}
		if base, err = filepath.Rel(dir, base); err != nil {
			t.Fatal(err)
		}
		text += "- " + base + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, dir)
}

// TestEachProgramIsKeptToItsNode: wherever users install the programs, and by whatever names, an agent changes only its
// node, and of it only what an agent publishes; a driver writes only its node's slices.
func TestEachProgramIsKeptToItsNode(t *testing.T) {
	definition, err := os.ReadFile("../../agent/discovery/testdata/nodefeature-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := render(t, "fast", map[string]any{"ports": map[string]any{"enabled": true, "ports": examplePorts(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		namespace, prefix string
		manifests         []byte
	}{
		"another namespace": {"elsewhere", "", overlay(t, "elsewhere", "")},
		"other names":       {"elsewhere", "acme-", overlay(t, "elsewhere", "acme-")},
		"the chart":         {"fast", "", append([]byte("{apiVersion: v1, kind: Namespace, metadata: {name: fast}}\n---\n"), chart...)},
	} {
		t.Run(name, func(t *testing.T) {
			plane := controltest.Start(t)
			plane.Apply(t, definition)
			plane.Apply(t, test.manifests)
			plane.Node(t, "n1", map[string]string{"kubernetes.io/os": "linux"})
			plane.Node(t, "n2", nil)
			account := test.namespace + ":" + test.prefix
			agent := restricted{t, plane, account + "nines-agent"}
			agent.tries(ofAnAgent(agent, test.namespace))
			driver := restricted{t, plane, account + "nines-ports"}
			driver.tries(ofADriver(driver))
			// Who may do everything is not restricted.
			_, err := plane.Kube.CoreV1().Nodes().Patch(t.Context(), "n2", types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"example.org/by":"admin"}},"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

const (
	notItsNode      = "may change only its own node"
	notItsLabel     = "only its own labels of a node"
	notItsCondition = "only its own conditions of a node"
)

// ofAnAgent are the changes that an agent of n1 may make, and those that it may not.
func ofAnAgent(r restricted, namespace string) []attempt {
	own := r.as("n1")
	patch := func(c *kubernetes.Clientset, node, text string, subresources ...string) func(context.Context) error {
		kind := types.MergePatchType
		if len(subresources) > 0 {
			kind = types.StrategicMergePatchType
		}
		return func(ctx context.Context) error {
			_, err := c.CoreV1().Nodes().Patch(ctx, node, kind, []byte(text), metav1.PatchOptions{}, subresources...)
			return err
		}
	}
	figures := func(c *kubernetes.Clientset, node string) func(context.Context) error {
		return raw(c, "/apis/nines.dev/v1alpha1/nodelatencies", `{"apiVersion":"nines.dev/v1alpha1","kind":"NodeLatency","metadata":{"name":"`+node+`"}}`)
	}
	features := func(node, label string) func(context.Context) error {
		return raw(own, "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/"+namespace+"/nodefeatures",
			`{"apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature","metadata":{"name":"nines-n1","labels":{"nfd.node.kubernetes.io/node-name":"`+node+`"}},`+
				`"spec":{"features":{"attributes":{},"flags":{},"instances":{}},"labels":{"`+label+`":"1"}}}`)
	}
	tier := `{"metadata":{"labels":{"tier.nines.dev/veth":"true"}}}`
	condition := func(kind string) string {
		return `{"status":{"conditions":[{"type":"` + kind + `","status":"True","reason":"Test","message":"Test"}]}}`
	}
	return []attempt{
		{"another node's label", notItsNode, patch(own, "n2", tier)},
		{"a label by a token that names no node", notItsNode, patch(r.as(""), "n1", tier)},
		{"a label of a tier", "", patch(own, "n1", tier)},
		{"a label of the node", "", patch(own, "n1", `{"metadata":{"labels":{"nines.dev/hugepages":"true","dpdk":"4"}}}`)},
		{"a label removed", "", patch(own, "n1", `{"metadata":{"labels":{"nines.dev/hugepages":null}}}`)},
		{"a role", notItsLabel, patch(own, "n1", `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`)},
		{"a role with the status", notItsLabel, patch(own, "n1", `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`, "status")},
		{"another's label changed", notItsLabel, patch(own, "n1", `{"metadata":{"labels":{"kubernetes.io/os":"windows"}}}`)},
		{"another's label removed", notItsLabel, patch(own, "n1", `{"metadata":{"labels":{"kubernetes.io/os":null}}}`)},
		{"an annotation", "only labels and conditions", patch(own, "n1", `{"metadata":{"annotations":{"example.org/a":"b"}}}`)},
		{"no pods", "only labels and conditions", patch(own, "n1", `{"spec":{"unschedulable":true}}`)},
		{"a condition", "", patch(own, "n1", condition("LatencyHolds"), "status")},
		{"the condition changed", "", patch(own, "n1", strings.ReplaceAll(condition("LatencyHolds"), `"True"`, `"False"`), "status")},
		{"another node's condition", notItsNode, patch(own, "n2", condition("LatencyHolds"), "status")},
		{"a kubelet's condition", notItsCondition, patch(own, "n1", condition("Ready"), "status")},
		{"a kubelet's capacity", "only conditions in the status", patch(own, "n1", `{"status":{"capacity":{"cpu":"1000"}}}`, "status")},
		{"figures", "", figures(own, "n1")},
		{"another node's figures", notItsNode, figures(own, "n2")},
		{"figures by a token that names no node", notItsNode, figures(r.as(""), "n1")},
		{"features", "", features("n1", "nines.dev/nic.count")},
		{"another node's features", notItsNode, features("n2", "nines.dev/nic.count")},
		{"a role by Node Feature Discovery", "only labels of nines.dev", features("n1", "node-role.kubernetes.io/control-plane")},
	}
}

// ofADriver are the slices that the driver of n1 may write, and those that it may not.
func ofADriver(r restricted) []attempt {
	slice := func(c *kubernetes.Clientset, node, driver, pool string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
				Spec: resourcev1.ResourceSliceSpec{
					NodeName: &node, Driver: driver, Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1},
				},
			}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
	}
	const refused, driver = "only the slices of its own node and driver", "ports.nines.dev"
	return []attempt{
		{"another node's slices", refused, slice(r.as("n1"), "n2", driver, "n2")},
		{"slices by a token that names no node", refused, slice(r.as(""), "n1", driver, "n1")},
		{"slices of another driver", refused, slice(r.as("n1"), "n1", "gpu.example.org", "n1")},
		{"slices of another node's pool", refused, slice(r.as("n1"), "n1", driver, "n2")},
		{"its node's slices", "", slice(r.as("n1"), "n1", driver, "n1")},
	}
}
