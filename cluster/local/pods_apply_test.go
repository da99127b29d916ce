package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/test/labtest"
)

// appliedPods is a lab that is changed while it is up.
const appliedPods = `
name: cluster-apply
prefix: tbapply
topology:
  nodes:
    client: {runtime: pod, host: n1}
    server: {runtime: pod, host: n2, app: {kind: reflect}}
  links:
    - {name: net, kind: pod-network, endpoints: ["client:eth0", "server:eth0"]}
`

// podChange is one change of such a lab.
type podChange struct {
	what string
	// edit changes the file, the same each time: old, new, old, new …
	edit []string
	// do is done to the cluster before; nil for nothing.
	do func(t *testing.T)
	// says is what apply says.
	says string
	// on is where each pod is then, and stays names those that are the same as before.
	on    map[string]string
	stays string
}

// applies changes a lab of pods, and sees which pods stay, which are made and which go.
func (c *cluster) applies(t *testing.T, call func(...string) (string, error)) {
	path := filepath.Join(t.TempDir(), "lab.yaml")
	write := func(edit ...string) {
		if err := os.WriteFile(path, []byte(strings.NewReplacer(edit...).Replace(appliedPods)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = call("down", "cluster-apply") })
	write()
	if out, err := call("up", path); err != nil {
		t.Fatalf("up: %v: %s", err, out)
	}
	third := []string{"  links:", "    third: {runtime: pod, host: n1}\n  links:", `"server:eth0"]`, `"server:eth0", "third:eth0"]`}
	selected := []string{"topology:", "cluster: {selector: {nines-test/measures: \"yes\"}}\ntopology:", ", host: n1", "", ", host: n2", ""}
	before := c.podsOf(t, "tbapply-")
	for _, change := range c.changesOfPods(call, third, selected) {
		// One after the other: each begins with what the last has left.
		if !t.Run(change.what, func(t *testing.T) {
			if change.do != nil {
				change.do(t)
			}
			write(change.edit...)
			out, err := call("apply", path)
			if err != nil || !strings.HasSuffix(parts(out), change.says) {
				t.Fatalf("apply: %v: it says\n%s\nand not\n%s", err, out, change.says)
			}
			now := c.podsOf(t, "tbapply-")
			on := map[string]string{}
			for name, pod := range now {
				on[name] = pod.Spec.NodeName
				same := before[name] != nil && before[name].UID == pod.UID
				if same != strings.Contains(change.stays, name) {
					t.Errorf("pod %s is the same: %t", name, same)
				}
			}
			if fmt.Sprint(on) != fmt.Sprint(change.on) {
				t.Errorf("the pods are on %v, and not %v", on, change.on)
			}
			before = now
			if out, err := call("check", "cluster-apply"); err != nil {
				t.Errorf("check: %v: %s", err, out)
			}
			// The engine of the app answers, and that in the pod which there is now.
			if out, err := call("exec", "--lab", "cluster-apply", "server", "--", "nines-engine", "--version"); err != nil {
				t.Errorf("a command in the pod: %v: %s", err, out)
			}
		}) {
			return
		}
	}
	if out, err := call("down", "cluster-apply"); err != nil {
		t.Errorf("down: %v: %s", err, out)
	}
	c.noPods(t)
}

// parts is what apply says of the parts that it changes, without the values of each, and what it does for longer than
// two seconds.
func parts(said string) string {
	var b strings.Builder
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "  ") && !strings.HasSuffix(line, " …\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (c *cluster) changesOfPods(call func(...string) (string, error), third, selected []string) []podChange {
	both := map[string]string{"client": "n1", "server": "n2"}
	changes := []podChange{
		{what: "NothingChanges", says: "nothing to change\n", on: both, stays: "client server"},
		{
			// With one other end, the server's engine has a peer; with two, none.
			what: "APodMore", edit: third, says: "added nodes: third\nadded endpoints: third:eth0\nrestarted engines: server\n",
			on: map[string]string{"client": "n1", "server": "n2", "third": "n1"}, stays: "client server",
		},
		{
			what: "APodMovesAndAnotherGoes", edit: []string{"server: {runtime: pod, host: n2", "server: {runtime: pod, host: n1"},
			says: "removed nodes: third\nreplaced nodes: server\nremoved endpoints: server:eth0, third:eth0\nadded endpoints: server:eth0\n",
			on:   map[string]string{"client": "n1", "server": "n1"}, stays: "client",
		},
		{
			what: "APodThatSomebodyHasDeleted", edit: []string{"server: {runtime: pod, host: n2", "server: {runtime: pod, host: n1"},
			do: func(t *testing.T) {
				c.must("kubectl", "--name", c.name, "--", "delete", "pod", "tbapply-client")
				eventually(t, "nines knows that the node is dead", func(context.Context) error {
					if out, _ := call("check", "cluster-apply"); !strings.Contains(out, "its pod has ended") {
						return fmt.Errorf("%w: %s", errNotYet, out)
					}
					return nil
				})
			},
			says: "replaced nodes: client\nremoved endpoints: client:eth0\nadded endpoints: client:eth0\n",
			on:   map[string]string{"client": "n1", "server": "n1"}, stays: "server",
		},
		{
			// Where no host is named, the labels of nodes decide.
			what: "LabelsChooseTheNode", edit: selected,
			do: func(t *testing.T) { c.labelNode(t, "n2", `{"nines-test/measures":"yes"}`) },
			says: "replaced nodes: client, server\nremoved endpoints: client:eth0, server:eth0\n" +
				"added endpoints: client:eth0, server:eth0\n",
			on: map[string]string{"client": "n2", "server": "n2"},
		},
	}
	if labtest.Long() {
		changes = append(changes, podChange{
			what: "TheAPIServerHasEndedTheEngines", edit: selected,
			do: func(t *testing.T) {
				c.kill(t, local.ControlName, "kube-apiserver")
				c.whole(t)
				eventually(t, "nines knows that the engine is dead", func(context.Context) error {
					if out, _ := call("check", "cluster-apply"); !strings.Contains(out, "engine of node server has died") {
						return fmt.Errorf("%w: %s", errNotYet, out)
					}
					return nil
				})
			},
			says: "restarted engines: server\n", on: map[string]string{"client": "n2", "server": "n2"}, stays: "client server",
		})
	}
	return changes
}

// podsOf are the pods with a prefix, by the rest of their names.
func (c *cluster) podsOf(t *testing.T, prefix string) map[string]*v1.Pod {
	t.Helper()
	pods := map[string]*v1.Pod{}
	for _, pod := range c.pods(t) {
		if name, is := strings.CutPrefix(pod.Name, prefix); is {
			pods[name] = &pod
		}
	}
	return pods
}

// labelNode gives a node of the cluster labels.
func (c *cluster) labelNode(t *testing.T, name, labels string) {
	t.Helper()
	eventually(t, "label node "+name, func(ctx context.Context) error {
		_, err := c.client().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":`+labels+`}}`), metav1.PatchOptions{})
		return err
	})
}
