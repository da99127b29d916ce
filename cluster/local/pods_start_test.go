package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/local"
	"nines.dev/nines/kernel/cputime"
	"nines.dev/nines/test/labtest"
)

// TestPodsThatStartDoNotSpoilAnHour starts 50 pods while the agents of two nodes measure. What that did to trials is in the
// figures for some rounds, and no longer: they are again as good as the worst trial without it.
func TestPodsThatStartDoNotSpoilAnHour(t *testing.T) {
	labtest.LongForm(t)
	labtest.QuietCore(t)
	const (
		pods = 50
		// rounds is how many there are before, and at most until the figures have recovered.
		rounds = 8
	)
	c := onlyCluster(t)
	c.must("up", "--nodes", "2", "--agent", "--name", c.name)
	// The agents measure while the host is half as idle as it is now: the pods make it busier than that.
	idle, err := cputime.Idle(t.Context(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.must("kubectl", "--name", c.name, "--", "--namespace", "nines", "patch", "daemonset", "nines-agent", "--type=json", "--patch",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["agent","--idle","`+fmt.Sprintf("%.2f", idle/2)+`","--interval","15s","--tiers","veth","--peers","0"]}]`)
	quiet := map[string]int64{} // the worst p99 of a trial that was not beside the pods, by node
	seen := map[string]time.Time{}
	// next waits for this many trials of each node, and calls a function for each. A trial that is skipped is none.
	next := func(what string, trials int, each func(node string, f *v1alpha1.Figure)) {
		counts := map[string]int{}
		for counts["n1"] < trials || counts["n2"] < trials {
			since := time.Now()
			eventually(t, what, func(context.Context) error {
				any := false
				if time.Since(since) > 2*time.Minute {
					labtest.Require(t, "a host that stays half as idle as it was", !strings.Contains(c.agentLog(), "its CPUs were only"))
				}
				for node, f := range c.vethOf(t) {
					if f.Newest == nil || p99(f.Newest.Percentiles) == 0 || seen[node].Equal(f.Newest.MeasuredAt.Time) {
						continue
					}
					seen[node], any = f.Newest.MeasuredAt.Time, true
					counts[node]++
					each(node, f)
				}
				if !any {
					return errors.Join(fmt.Errorf("%w: %v", errNotYet, counts), asked(c.agentLog))
				}
				return nil
			})
		}
	}
	undisturbed := func(node string, f *v1alpha1.Figure) {
		quiet[node] = max(quiet[node], p99(f.Newest.Percentiles))
	}
	next("trials without the pods", rounds, undisturbed)

	began := time.Now()
	t.Logf("the host was %.0f %% idle", 100*idle)
	for i := range pods {
		c.sleeps(t, fmt.Sprintf("one-of-many-%d", i))
	}
	worst := map[string]int64{}
	for running := 0; running < pods; {
		time.Sleep(time.Second)
		for node, f := range c.vethOf(t) {
			if f.Newest != nil && f.Newest.MeasuredAt.After(began) {
				seen[node] = f.Newest.MeasuredAt.Time
				worst[node] = max(worst[node], p99(f.Newest.Percentiles))
			}
		}
		running = 0
		list, err := c.client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].Status.Phase == v1.PodRunning {
				running++
			}
		}
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("%d of %d pods run", running, pods)
		}
	}
	took := time.Since(began)
	// The trial in which the last of them started.
	next("the trial beside the last pods", 1, func(node string, f *v1alpha1.Figure) { worst[node] = max(worst[node], p99(f.Newest.Percentiles)) })
	for node, f := range c.vethOf(t) {
		t.Logf("%s: %d pods ran after %s; p99 of the worst trial before %s, beside them %s, of the figure then %s",
			node, pods, took.Round(time.Second), time.Duration(quiet[node]), time.Duration(worst[node]), time.Duration(p99(f.Percentiles)))
	}
	recovered := map[string]int{}
	after := map[string]int{}
	next("trials after the pods", rounds, func(node string, f *v1alpha1.Figure) {
		undisturbed(node, f)
		after[node]++
		// Three times is what a tail has to change by for the agent to notice.
		if good := p99(f.Percentiles) <= 3*quiet[node]; good && recovered[node] == 0 {
			recovered[node] = after[node]
		} else if !good {
			recovered[node] = 0
		}
		t.Logf("%s, trial %d after: p99 %s, of the figure %s of %d packets, %s", node, after[node], time.Duration(p99(f.Newest.Percentiles)), time.Duration(p99(f.Percentiles)), f.Count, f.Verdict)
	})
	for _, node := range []string{"n1", "n2"} {
		if recovered[node] == 0 {
			t.Errorf("%s: after %d trials the figure has not recovered", node, after[node])
		}
	}
}

// vethOf returns the nodes' own figures of veth.
func (c *cluster) vethOf(t *testing.T) map[string]*v1alpha1.Figure {
	t.Helper()
	var list v1alpha1.NodeLatencyList
	if err := json.Unmarshal([]byte(c.kubectl("get", "nodelatencies", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	of := map[string]*v1alpha1.Figure{}
	for i := range list.Items {
		for k := range list.Items[i].Figures {
			if f := &list.Items[i].Figures[k]; f.Tier == "veth" && f.Peer == "" {
				of[list.Items[i].Name] = f
			}
		}
	}
	return of
}

// p99 is that of percentiles in ns; 0 without.
func p99(percentiles []v1alpha1.Percentile) int64 {
	for _, p := range percentiles {
		if p.P == "99" {
			return p.ValueNs
		}
	}
	return 0
}

// sleeps makes a pod that does nothing, on either node.
func (c *cluster) sleeps(t *testing.T, name string) {
	t.Helper()
	zero := int64(0)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &zero,
			Containers: []v1.Container{{
				Name: "it", Image: local.BusyboxImage, ImagePullPolicy: v1.PullNever, Command: []string{"sleep", "100000"},
			}},
		},
	}
	if _, err := c.client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
