package local

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/kernel/await"
)

// askEvery is how often it is asked whether a cluster is ready.
const askEvery = 200 * time.Millisecond

// tooOften is how many starts of a program mean that it will not run: one may fail because what it
// needs is not there yet.
const tooOften = 4

// awaitServer returns when the API server answers.
func (b *builder) awaitServer(ctx context.Context) error {
	client, err := b.Client()
	if err != nil {
		return err
	}
	b.awaited = "the API server"
	return b.await(ctx, func(ctx context.Context) bool {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
	}, ControlName)
}

// awaitReady returns when every node is ready, and pods can be made: their service account is made
// by a controller some time after the server.
func (b *builder) awaitReady(ctx context.Context) error {
	client, err := b.Client()
	if err != nil {
		return err
	}
	parts := []string{ControlName}
	for _, n := range b.layout.Nodes {
		parts = append(parts, n.Name)
	}
	told := map[string]bool{}
	return b.await(ctx, func(ctx context.Context) bool {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range nodes.Items {
			if name := nodes.Items[i].Name; isReady(&nodes.Items[i]) && !told[name] {
				told[name] = true
				b.progress("node " + name + " is ready")
			}
		}
		if missing := b.without(told); len(missing) > 0 {
			b.awaited = "node " + strings.Join(missing, ", ")
			return false
		}
		b.awaited = "the service account of pods"
		_, err = client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	}, parts...)
}

// without are the nodes that are not among the given ones.
func (b *builder) without(names map[string]bool) []string {
	var missing []string
	for _, n := range b.layout.Nodes {
		if !names[n.Name] {
			missing = append(missing, n.Name)
		}
	}
	return missing
}

func isReady(n *v1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// await asks until the answer is yes. A part whose programs do not run is an error; that a busy
// machine is slow is none.
func (b *builder) await(ctx context.Context, done func(context.Context) bool, parts ...string) error {
	return await.Until(ctx, await.Condition{What: "the cluster is ready", Every: askEvery, Holds: func(ctx context.Context) error {
		if done(ctx) {
			return nil
		}
		for _, name := range parts {
			if err := faultOf(name, b.part(name)); err != nil {
				return await.Never(err)
			}
		}
		return await.Answer(false, nil)
	}})
}

// faultOf is the error of a part that does not get its programs to run.
func faultOf(name, folder string) error {
	status, err := inside.ReadStatus(folder)
	if err != nil {
		return err
	}
	if status.Failed != "" {
		return fmt.Errorf("%s: %s", name, status.Failed)
	}
	for _, p := range status.Programs {
		if p.Starts >= tooOften {
			return fmt.Errorf("%s does not run on %s: it was started %d times, and last ended with %q; its log ends with:\n%s",
				p.Name, name, p.Starts, p.Ended, lastLines(inside.Log(folder, p.Name), 5))
		}
	}
	return nil
}

// lastLines are the last lines of a log, indented.
func lastLines(path string, count int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "  " + err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-count):], "\n  ")
}
