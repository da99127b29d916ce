package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/journal"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

const kubeconfigText = `apiVersion: v1
kind: Config
contexts: [{name: one, context: {cluster: a, user: b}}, {name: two, context: {cluster: c, user: d}}]
current-context: two
`

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// podPlace is a place in a state folder, with a journal and no KUBECONFIG.
func podPlace(t *testing.T) (p Place, root string) {
	t.Helper()
	root = t.TempDir()
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", filepath.Join(root, "home"))
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{Token: "nines-0123"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return Place{
		Journal: j, StateDir: filepath.Join(root, "labs", "pods"),
		Plan: &plan.Plan{Name: "pods", Cluster: &spec.Cluster{Namespace: "measuring", Image: "image", Clock: spec.ClockShared}},
	}, root
}

// TestWhereAPodIsOrdered: what the file names comes first, then the environment, the local cluster
// and the user's own; the context is that of now.
func TestWhereAPodIsOrdered(t *testing.T) {
	p, root := podPlace(t)
	n := plan.Node{Name: "a", HostName: "pods-a", Pod: &plan.Pod{CPUs: 2, Host: "n1", Latency: "p99 < 1ms"}, Env: map[string]string{"A": "b"}, MemoryBytes: 1 << 30}
	if _, err := p.order(n); err == nil || !strings.Contains(err.Error(), "nines cluster up makes one") {
		t.Errorf("without any cluster: %v", err)
	}
	home := write(t, filepath.Join(root, "home", ".kube", "config"), kubeconfigText)
	local := filepath.Join(root, "clusters", "kube", "kubeconfig")
	other, file := write(t, filepath.Join(root, "other"), kubeconfigText), write(t, filepath.Join(root, "file"), kubeconfigText)
	for _, step := range []struct {
		want string
		do   func()
	}{
		{home, func() {}},
		{local, func() { write(t, local, kubeconfigText) }},
		{other, func() { t.Setenv("KUBECONFIG", other) }},
		{file, func() { p.Plan.Cluster.Kubeconfig = file }},
	} {
		step.do()
		order, err := p.order(n)
		if err != nil || order.Kubeconfig != step.want || order.Context != "two" {
			t.Errorf("%s, and not %s: %v", order.Kubeconfig, step.want, err)
		}
	}
	got, err := p.order(n)
	if err != nil {
		t.Fatal(err)
	}
	if got.BootID == "" {
		t.Error("a shared clock is not asked for")
	}
	got.BootID = ""
	want := PodOrder{
		PodPlace: PodPlace{Kubeconfig: file, Context: "two", Namespace: "measuring", Name: "pods-a"},
		Labels:   map[string]string{PodLabToken: "nines-0123", "nines.dev/lab": "pods", "nines.dev/node": "a"},
		Host:     "n1", Latency: "p99 < 1ms", Image: "image", Env: n.Env, CPUs: 2, MemoryBytes: 1 << 30,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	t.Setenv("KUBECONFIG", other+":"+file)
	p.Plan.Cluster.Kubeconfig = ""
	if _, err := p.order(n); err == nil || !strings.Contains(err.Error(), "several files") {
		t.Errorf("several kubeconfigs: %v", err)
	}
	p.Plan.Cluster.Kubeconfig = write(t, filepath.Join(root, "none"), "contexts: []\n")
	if _, err := p.order(n); err == nil || !strings.Contains(err.Error(), "current context") {
		t.Errorf("a kubeconfig without a context: %v", err)
	}
}

// TestAPodOfAClusterThatIsGone is left to it, with a note, so that the lab can go.
func TestAPodOfAClusterThatIsGone(t *testing.T) {
	known := write(t, filepath.Join(t.TempDir(), "config"), kubeconfigText)
	for _, gone := range []struct{ path, context string }{{known, "three"}, {filepath.Join(t.TempDir(), "none"), "two"}} {
		var notes []string
		err := undoPod(context.Background(), journal.Undoing{
			Entry: journal.Entry{Step: journal.Step{Kind: KindPod, Node: "a", Name: "pods-a", Target: "measuring", Path: gone.path, Value: gone.context, Token: "t"}},
			Note:  func(note string) { notes = append(notes, note) },
		})
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "kubectl --namespace measuring delete pod pods-a") {
			t.Errorf("%v: %v, %q", gone, err, notes)
		}
	}
	if there, err := knows(known, "one"); err != nil || !there {
		t.Errorf("a context that is there: %v, %v", there, err)
	}
	if _, err := knows(write(t, filepath.Join(t.TempDir(), "broken"), "contexts: {"), "one"); err == nil {
		t.Error("a file that cannot be read counts as one without the context")
	}
}
