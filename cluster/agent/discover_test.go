package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"

	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
)

func TestTheDoctorsFindingsAreACondition(t *testing.T) {
	finding := func(id string, severity host.Severity) doctor.Finding {
		return doctor.Finding{ID: id, Severity: severity}
	}
	for want, report := range map[string]doctor.Report{
		"True NothingFound nines doctor finds nothing that costs latency": {Verdict: doctor.VerdictFit},
		"True OnlyNotes 1 note: audit; run nines doctor on the node for causes and remedies": {
			Verdict: doctor.VerdictFit, Findings: []doctor.Finding{finding("audit", host.SeverityNote)},
		},
		"False Findings 2 warnings: hypervisor, idle-states; 1 note: audit; run nines doctor on the node for causes and remedies": {
			Verdict: doctor.VerdictUnfit, Findings: []doctor.Finding{
				finding("hypervisor", host.SeverityWarning), finding("idle-states", host.SeverityWarning), finding("audit", host.SeverityNote),
			},
		},
	} {
		condition := Fit(&report)
		if got := fmt.Sprintf("%s %s %s", condition.Status, condition.Reason, condition.Message); got != want {
			t.Errorf("%s", got)
		}
	}
}

// TestNoLabelHasTwoOwners: Node Feature Discovery removes a label that is no longer in a NodeFeature.
func TestNoLabelHasTwoOwners(t *testing.T) {
	inv, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	own := Labels(inv, nil, map[string]bool{"veth": true, "memif": false})
	for name := range discovery.Labels(discovery.Of(inv, &discovery.OVS{Version: "3.1.0", DPDK: true})) {
		if _, both := own[name]; both || !strings.HasPrefix(name, discovery.Prefix) {
			t.Errorf("%s", name)
		}
	}
}

// TestDiscovery tells a real API server what a node has, with the rights that the manifests give an
// agent, first without and then with Node Feature Discovery.
func TestDiscovery(t *testing.T) {
	plane := controltest.Start(t)
	manifest, err := deploy.Agent()
	if err != nil {
		t.Fatal(err)
	}
	plane.Apply(t, manifest)
	node := plane.Node(t, "n1", nil)
	plane.Node(t, "n2", nil)
	kube, err := kubernetes.NewForConfig(agentConfig(plane, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	d := &Discovery{Node: "n1", Kube: kube, NFD: asAgent(t, plane, "n1"), Metrics: NewMetrics()}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	found := func(vfs int) discovery.Node {
		inv := *inventory
		inv.NICs = append(slices.Clone(inv.NICs), host.NIC{Name: "ens1", Driver: "igb", State: "up", TotalVFs: 8, NumVFs: vfs, SpeedMbit: 1000})
		return discovery.Of(&inv, nil)
	}
	tell := func(n discovery.Node, want bool) {
		t.Helper()
		if told, err := d.tell(t.Context(), n); err != nil || told != want {
			t.Errorf("told is %t, %v", told, err)
		}
	}
	version := func() string {
		t.Helper()
		now, err := plane.Kube.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(now.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == ConditionFit })
		if at < 0 || now.Status.Conditions[at].Message != Fit(found(0).Report).Message {
			t.Fatalf("the conditions are %+v", now.Status.Conditions)
		}
		return now.ResourceVersion
	}

	// Without Node Feature Discovery the condition is told all the same, and once.
	tell(found(0), true)
	first := version()
	tell(found(0), true)
	if again := version(); again != first {
		t.Errorf("what had not changed was written again: %s, %s", first, again)
	}

	definition, err := os.ReadFile("discovery/testdata/nodefeature-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plane.Apply(t, definition)
	resource := nfd.SchemeGroupVersion.WithResource("nodefeatures")
	objects := dynamic.NewForConfigOrDie(plane.Config).Resource(resource).Namespace("nines")
	controltest.Eventually(t, "the API server serves NodeFeatures", func(ctx context.Context) error {
		there, err := d.NFD.There()
		if err == nil && !there {
			err = errors.New("it does not")
		}
		if err == nil {
			_, err = objects.List(ctx, metav1.ListOptions{})
		}
		return err
	})
	tell(found(0), true)
	read := func() (features map[string]any, resourceVersion string) {
		t.Helper()
		object, err := objects.Get(t.Context(), "nines-n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owners := object.GetOwnerReferences()
		if len(owners) != 1 || owners[0].Kind != "Node" || owners[0].UID != node.UID || object.GetLabels()["nfd.node.kubernetes.io/node-name"] != "n1" {
			t.Errorf("the object has %+v", object.Object["metadata"])
		}
		labels, _ := object.Object["spec"].(map[string]any)["labels"].(map[string]any)
		return labels, object.GetResourceVersion()
	}
	labels, before := read()
	if labels["nines.dev/sriov.capable"] != "true" || labels["nines.dev/sriov.vfs"] != nil {
		t.Errorf("the labels are %v", labels)
	}
	tell(found(0), true)
	if _, after := read(); after != before {
		t.Errorf("what had not changed was written again: %s, %s", before, after)
	}

	// Virtual functions that are made one after the other are told once, when all are there.
	tell(found(1), false)
	tell(found(4), false)
	if _, after := read(); after != before {
		t.Errorf("told before it was certain")
	}
	tell(found(4), true)
	if labels, _ = read(); labels["nines.dev/sriov.vfs"] != "4" {
		t.Errorf("the labels are %v", labels)
	}
	// What someone else has changed is put right.
	if err := objects.Delete(t.Context(), "nines-n1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tell(found(4), true)
	read()

	t.Run("TheFindingsAreMetrics", func(t *testing.T) {
		answer := httptest.NewRecorder()
		d.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		report := found(4).Report
		for _, f := range report.Findings {
			if line := fmt.Sprintf("nines_doctor_finding{id=%q,severity=%q} 1\n", f.ID, f.Severity); !strings.Contains(answer.Body.String(), line) {
				t.Errorf("there is no %s", line)
			}
		}
		if line := fmt.Sprintf("nines_doctor_findings{severity=%q} %d\n", host.SeverityWarning, report.Count(host.SeverityWarning)); !strings.Contains(answer.Body.String(), line) {
			t.Errorf("there is no %s in\n%s", line, answer.Body)
		}
	})
	t.Run("AnAgentTellsOfItsOwnNodeOnly", func(t *testing.T) {
		other, err := plane.Kube.CoreV1().Nodes().Get(t.Context(), "n2", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The policy may take effect some time after it was made.
		controltest.Eventually(t, "the agent of n1 may not write what n2 has", func(ctx context.Context) error {
			_, err := d.NFD.Publish(ctx, other, discovery.Features(found(0)))
			return refused(err, "may change only its own node")
		})
		// By its own object's name, labelled as another node's.
		object, err := objects.Get(t.Context(), "nines-n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		object.SetLabels(map[string]string{"nfd.node.kubernetes.io/node-name": "n2"})
		mine := dynamic.NewForConfigOrDie(agentConfig(plane, "n1")).Resource(resource).Namespace("nines")
		_, err = mine.Update(t.Context(), object, metav1.UpdateOptions{})
		if err := refused(err, "labelled as belonging to another"); err != nil {
			t.Error(err)
		}
		if _, err := asAgent(t, plane, "").Publish(t.Context(), node, discovery.Features(found(0))); refused(err, "may change only its own node") != nil {
			t.Errorf("a token of no pod: %v", err)
		}
		for what, err := range map[string]error{
			"delete": mine.Delete(t.Context(), "nines-n1", metav1.DeleteOptions{}),
			"list":   listed(mine.List(t.Context(), metav1.ListOptions{})),
		} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func listed(_ any, err error) error { return err }

// refused is nil for a refusal with these words.
func refused(err error, words string) error {
	if err == nil || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("it is not refused by %q, but: %w", words, err)
	}
	return nil
}

// agentConfig gives the rights of an agent whose pod is on a node, or of a token of no pod.
func agentConfig(plane *controltest.Plane, node string) *rest.Config {
	config := rest.CopyConfig(plane.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:nines:nines-agent", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	if node != "" {
		config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	return config
}

func asAgent(t *testing.T, plane *controltest.Plane, node string) *discovery.NFD {
	t.Helper()
	client, err := discovery.NewNFD(agentConfig(plane, node), "nines")
	if err != nil {
		t.Fatal(err)
	}
	return client
}
