package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/terminal/command"
)

// TestUninstallRemovesWhatProgramsHaveWritten from a real API server, and nothing else.
func TestUninstallRemovesWhatProgramsHaveWritten(t *testing.T) {
	plane := controltest.Start(t)
	plane.Apply(t, v1alpha1.CRD)
	plane.Node(t, "n1", map[string]string{"tier.nines.dev/veth": "true", "nines.dev/hugepages": "true", "example.org/own": "yes"})
	_, err := plane.Kube.CoreV1().Nodes().Patch(t.Context(), "n1", types.StrategicMergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"LatencyHolds","status":"True"},{"type":"FitForLatency","status":"False"}]}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	node := "n1"
	_, err = plane.Kube.ResourceV1().ResourceSlices().Create(t.Context(), &resource.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "ports"},
		Spec:       resource.ResourceSliceSpec{NodeName: &node, Driver: "ports.nines.dev", Pool: resource.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	controltest.Eventually(t, "figures", func(ctx context.Context) error {
		now := metav1.Now()
		_, err := plane.Latencies.Create(ctx, &v1alpha1.NodeLatency{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind}, ObjectMeta: metav1.ObjectMeta{Name: node},
			Figures: []v1alpha1.Figure{{Tier: "veth", Way: v1alpha1.OneWay, Count: 1, Verdict: v1alpha1.Clean, MeasuredAt: now, ValidUntil: metav1.NewTime(now.Add(time.Hour))}},
		})
		return err
	})
	makeNodeFeatures(t, plane, map[string]nfd.NodeFeature{
		"nines/nines-n1":  nodeFeature("n1", "nines.kernel"),
		"kept/n1":         nodeFeature("n1", "kernel.version"),
		"kept/nines-n2":   nodeFeature("n1", "nines.kernel"),                // named by someone else
		"kept/nines-n1":   nodeFeature("n1", "nines.kernel", "example.org"), // has features of someone else
		"former/nines-n1": nodeFeature("n1", "nines.cpu", "nines.finding"),
		"kept/nines-n3":   nodeFeature("n3"), // has no features
	})
	call := func(more ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := command.Run(newRootCommand(), append([]string{"uninstall", "--kubeconfig", plane.Kubeconfig(t)}, more...), &out, &out); code != 0 {
			t.Fatalf("exit code %d: %s", code, &out)
		}
		return out.String()
	}
	const wanted = "node n1: nines.dev/hugepages, tier.nines.dev/veth, condition LatencyHolds, condition FitForLatency\nresourceslice ports\nnodelatency n1\nnodefeature former/nines-n1\nnodefeature nines/nines-n1\n"
	if said := call("--dry-run"); said != wanted {
		t.Errorf("a dry run says\n%s", said)
	}
	if said := call(); said != wanted {
		t.Errorf("it says\n%s", said)
	}
	if said := call(); said != "" {
		t.Errorf("a second call says\n%s", said)
	}
	kept, err := dynamic.NewForConfigOrDie(plane.Config).Resource(nodeFeatures).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(kept.Items) != 4 || slices.ContainsFunc(kept.Items, func(o unstructured.Unstructured) bool { return o.GetNamespace() != "kept" }) {
		t.Errorf("%v, of others there are %+v", err, kept)
	}
	now, err := plane.Kube.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil || now.Labels["example.org/own"] != "yes" || len(now.Status.Conditions) != 1 || now.Status.Conditions[0].Type != v1.NodeReady {
		t.Errorf("%v, %+v, %+v", err, now.Labels, now.Status.Conditions)
	}

	plane.Pod(t, "agent", nil, func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "nines-agent"} })
	var out bytes.Buffer
	if code := command.Run(newRootCommand(), []string{"uninstall", "--kubeconfig", plane.Kubeconfig(t)}, &out, &out); code != 1 || !strings.Contains(out.String(), "still runs") {
		t.Errorf("beside an agent: %d, %s", code, &out)
	}
}

var nodeFeatures = nfd.SchemeGroupVersion.WithResource("nodefeatures")

// nodeFeature is an object of Node Feature Discovery for a node, with these features.
func nodeFeature(node string, features ...string) nfd.NodeFeature {
	f := nfd.NodeFeature{Spec: *nfd.NewNodeFeatureSpec()}
	f.Labels = map[string]string{nfd.NodeFeatureObjNodeNameLabel: node}
	for _, name := range features {
		f.Spec.Features.Attributes[name] = nfd.NewAttributeFeatures(map[string]string{"it": "is"})
	}
	return f
}

// makeNodeFeatures defines the objects of Node Feature Discovery, and makes these, each by its namespace and name.
func makeNodeFeatures(t *testing.T, plane *controltest.Plane, objects map[string]nfd.NodeFeature) {
	t.Helper()
	definition, err := os.ReadFile("../../agent/discovery/testdata/nodefeature-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plane.Apply(t, definition)
	all := dynamic.NewForConfigOrDie(plane.Config).Resource(nodeFeatures)
	for place, f := range objects {
		f.APIVersion, f.Kind = nfd.SchemeGroupVersion.String(), "NodeFeature"
		f.Namespace, f.Name, _ = strings.Cut(place, "/")
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&f)
		if err != nil {
			t.Fatal(err)
		}
		controltest.Eventually(t, "NodeFeature "+place, func(ctx context.Context) error {
			_, err := plane.Kube.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace}}, metav1.CreateOptions{})
			if err == nil || apierrors.IsAlreadyExists(err) {
				_, err = all.Namespace(f.Namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
			}
			return err
		})
	}
}
