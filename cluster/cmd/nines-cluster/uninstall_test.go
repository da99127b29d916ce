package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	call := func(more ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := command.Run(newRootCommand(), append([]string{"uninstall", "--kubeconfig", plane.Kubeconfig(t)}, more...), &out, &out); code != 0 {
			t.Fatalf("exit code %d: %s", code, &out)
		}
		return out.String()
	}
	const wanted = "node n1: nines.dev/hugepages, tier.nines.dev/veth, condition LatencyHolds, condition FitForLatency\nresourceslice ports\nnodelatency n1\n"
	if said := call("--dry-run"); said != wanted {
		t.Errorf("a dry run says\n%s", said)
	}
	if said := call(); said != wanted {
		t.Errorf("it says\n%s", said)
	}
	if said := call(); said != "" {
		t.Errorf("a second call says\n%s", said)
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
