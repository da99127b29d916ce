package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"

	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/host"
	"nines.dev/nines/test/labtest"
)

// ruleForFunctions is a user's rule on what the agent tells of cards, as in docs/cluster-agent.md.
const ruleForFunctions = `
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: has-functions}
spec:
  rules:
    - name: functions
      labels: {example.org/has-functions: "true"}
      matchFeatures:
        - feature: nines.nic
          matchExpressions: {sriov_numvfs: {op: Gt, value: ["0"]}, numa_node: {op: In, value: ["0"]}, state: {op: In, value: [up]}}
`

// TestNodeFeatureDiscoveryLabelsTheNode has the real nfd-master read what the agent tells.
//
//	agent ── NodeFeature nines-n1 ──> API server ──> nfd-master ── labels ──> node n1
func TestNodeFeatureDiscoveryLabelsTheNode(t *testing.T) {
	labtest.LongForm(t)
	plane := controltest.Start(t)
	manifest, err := deploy.Agent()
	if err != nil {
		t.Fatal(err)
	}
	programs := filepath.Dir(controltest.Program(t))
	definitions, err := os.ReadFile(filepath.Join(programs, "nfd-api-crds.yaml"))
	labtest.Require(t, "Node Feature Discovery (NINES_LONG=1 make setup-cluster)", err == nil)
	plane.Apply(t, manifest)
	plane.Apply(t, definitions)
	plane.Node(t, "n1", map[string]string{"nines.dev/isolated-cpus": "2"}) // as the agent sets by itself
	plane.Node(t, "n2", nil)
	// As each kubelet's node has some: without any, nfd-master's patch of its annotations is refused.
	if _, err := plane.Kube.CoreV1().Nodes().Patch(t.Context(), "n1", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"example.org/a-kubelets":"own"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	kube, err := kubernetes.NewForConfig(agentConfig(plane, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	d := &Discovery{Node: "n1", Kube: kube, NFD: asAgent(t, plane, "n1"), Metrics: NewMetrics()}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	all := dynamic.NewForConfigOrDie(plane.Config)
	objects := all.Resource(nfd.SchemeGroupVersion.WithResource("nodefeatures")).Namespace("nines")
	controltest.Eventually(t, "the API server serves NodeFeatures, and rules on them", func(ctx context.Context) error {
		rules := all.Resource(nfd.SchemeGroupVersion.WithResource("nodefeaturerules"))
		return errors.Join(listed(objects.List(ctx, metav1.ListOptions{})), listed(rules.List(ctx, metav1.ListOptions{})))
	})
	plane.Apply(t, []byte(ruleForFunctions))
	startMaster(t, filepath.Join(programs, "nfd-master"), plane.Kubeconfig(t))

	// tell has the agent find a card with as many virtual functions.
	tell := func(vfs int) {
		t.Helper()
		inv := *inventory
		inv.NICs = append(slices.Clone(inv.NICs), host.NIC{Name: "ens1", Driver: "igb", State: "up", TotalVFs: 8, NumVFs: vfs, SpeedMbit: 1000})
		controltest.Eventually(t, "the agent tells what the node has", func(ctx context.Context) error {
			told, err := d.tell(ctx, discovery.Of(&inv, nil))
			if err == nil && !told {
				err = errors.New("it is not certain yet")
			}
			return err
		})
	}
	tell(4)
	hasLabels(t, plane, "n1", map[string]string{
		"nines.dev/sriov.capable": "true", "nines.dev/sriov.vfs": "4", "nines.dev/kernel.version": inventory.Kernel.Release,
		"example.org/has-functions": "true", "nines.dev/isolated-cpus": "2",
	})
	hasLabels(t, plane, "n2", map[string]string{"nines.dev/sriov.capable": "", "example.org/has-functions": ""})

	// The label of what the node no longer has is removed.
	tell(0)
	hasLabels(t, plane, "n1", map[string]string{
		"nines.dev/sriov.capable": "true", "nines.dev/sriov.vfs": "", "example.org/has-functions": "", "nines.dev/isolated-cpus": "2",
	})
	if err := objects.Delete(t.Context(), discovery.ObjectName("n1"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	hasLabels(t, plane, "n1", map[string]string{"nines.dev/sriov.capable": "", "nines.dev/kernel.version": "", "nines.dev/isolated-cpus": "2"})
}

// startMaster starts nfd-master, which ends with the test.
func startMaster(t *testing.T, program, kubeconfig string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "nfd-master.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-kubeconfig", kubeconfig, "-port", "0")
	// It notes its release at the node that it runs on.
	cmd.Env = append(os.Environ(), "NODE_NAME=n2", "KUBERNETES_NAMESPACE=nines")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if said, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("nfd-master says:\n%s", said[max(0, len(said)-4000):])
		}
		_ = log.Close()
	})
}

// hasLabels waits until a node has these labels, or not those with an empty value.
func hasLabels(t *testing.T, plane *controltest.Plane, node string, wanted map[string]string) {
	t.Helper()
	controltest.Eventually(t, "the labels of "+node, func(ctx context.Context) error {
		now, err := plane.Kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for name, value := range wanted {
			if got, there := now.Labels[name]; got != value || there != (value != "") {
				return fmt.Errorf("%s is %q, and not %q", name, got, value)
			}
		}
		return nil
	})
}
