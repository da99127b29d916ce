package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// podsFile is an experiment whose two nodes are pods.
const podsFile = `
name: cluster-pods
prefix: tbpods
cluster: {clock: %s}
topology:
  nodes:
    client: {runtime: pod, host: n1}
    server: {runtime: pod, host: n2%s}
  links: [{name: net, kind: pod-network, endpoints: ["client:eth0", "server:eth0"]}]
traffic: {from: "client:eth0", to: "%s:eth0", rate_pps: 500, warmup: 100ms, duration: %s}
`

// TestExperimentsRunAsPods has real engines in real pods, driven by the program nines.
//
//	host ── nines run ── API server ── n1 ── pod client ── UDP ── pod server ── n2
func TestExperimentsRunAsPods(t *testing.T) {
	c := newCluster(t)
	nines, err := node.Program("nines")
	labtest.Require(t, "nines (make build)", err == nil)
	c.must("up", "--nodes", "2", "--name", c.name)
	// call calls nines, and returns what it says.
	call := func(arguments ...string) (string, error) {
		out, err := c.command(nines, arguments...).CombinedOutput()
		return string(out), err
	}
	// Before the cluster goes; there is no lab left where all went well.
	t.Cleanup(func() { _, _ = call("down", "cluster-pods") })
	file := func(text ...any) string {
		path := filepath.Join(t.TempDir(), "pods.yaml")
		if err := os.WriteFile(path, []byte(fmt.Sprintf(podsFile, text...)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const reflects, nothing = ", app: {kind: reflect}", ""

	t.Run("ARoundTrip", func(t *testing.T) {
		details := measured(t, call, file("own", reflects, "client", "1s"))
		if details.Role != "loop" || len(details.Devices) != 2 || details.Devices[0].Values["cluster_node"] != "n1" || details.Devices[1].Values["cluster_node"] != "n2" {
			t.Errorf("the result says %s, %+v", details.Role, details.Devices)
		}
		c.noPods(t)
	})
	t.Run("OneWayByOneClock", func(t *testing.T) {
		if details := measured(t, call, file("shared", nothing, "server", "1s")); details.Role == "loop" {
			t.Error("it is no way, but a loop")
		}
		c.noPods(t)
	})
	t.Run("OneWayByKeptClocks", func(t *testing.T) {
		var timex unix.Timex
		state, err := unix.Adjtimex(&timex)
		if err != nil {
			t.Fatal(err)
		}
		path := file("realtime", nothing, "server", "1s")
		if state == unix.TIME_ERROR {
			// Nobody keeps the clock of this host, and a test does not say that someone does.
			if out, err := call("run", path, "--out", t.TempDir()); exitCode(err) != 3 || !strings.Contains(out, "is not synchronised") || !strings.Contains(out, "phc2sys") {
				t.Errorf("%v: %s", err, out)
			}
		} else if details := measured(t, call, path); details.Clocks == nil || details.Clocks.ErrorNs == 0 {
			t.Errorf("the clocks of the result are %+v", details.Clocks)
		}
		c.noPods(t)
	})
	t.Run("OneWayByTwoClocksIsRefused", func(t *testing.T) {
		out, err := call("run", file("own", nothing, "server", "1s"))
		if exitCode(err) != 2 || !strings.Contains(out, "measure the round trip") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("AnImageThatIsNotThere", func(t *testing.T) {
		text, err := os.ReadFile(file("own", reflects, "client", "1s"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "image.yaml")
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), "clock: own", "image: 127.0.0.1:1/none:1", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := call("up", path)
		if exitCode(err) != 2 || !strings.Contains(out, "cluster.image") {
			t.Errorf("an image that nobody has: %v: %s", err, out)
		}
		c.noPods(t)
	})
	t.Run("KilledInTheMiddle", func(t *testing.T) {
		run := c.command(nines, "run", file("own", reflects, "client", "10m"), "--out", t.TempDir())
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "both pods run", func(context.Context) error {
			for _, pod := range c.pods(t) {
				if pod.Status.Phase != v1.PodRunning {
					return errNotYet
				}
			}
			if len(c.pods(t)) < 2 {
				return errNotYet
			}
			return nil
		})
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = run.Wait()
		if out, err := call("down", "cluster-pods"); err != nil {
			t.Errorf("down after kill -9: %v: %s", err, out)
		}
		c.noPods(t)
	})
	t.Run("ALabThatIsChanged", func(t *testing.T) { c.applies(t, call) })
	t.Run("APodThatSomebodyDeletes", func(t *testing.T) {
		path := file("own", reflects, "client", "1s")
		if out, err := call("up", path); err != nil {
			t.Fatalf("up: %v: %s", err, out)
		}
		if out, err := call("exec", "--lab", "cluster-pods", "client", "--", "nines-engine", "--version"); err != nil || !strings.Contains(out, "nines-engine") {
			t.Errorf("a command in the pod: %v: %s", err, out)
		}
		c.must("kubectl", "--name", c.name, "--", "delete", "pod", "tbpods-server")
		eventually(t, "nines knows that the node is dead", func(context.Context) error {
			if out, _ := call("check", "cluster-pods"); !strings.Contains(out, "its pod has ended") {
				return fmt.Errorf("%w: %s", errNotYet, out)
			}
			return nil
		})
		// Someone's pod has its name now.
		c.foreign(t, "tbpods-server")
		if out, err := call("down", "cluster-pods"); err != nil || !strings.Contains(out, "default/tbpods-server does not belong to this lab") {
			t.Errorf("down beside another's pod: %v: %s", err, out)
		}
		if left := c.pods(t); len(left) != 1 || left[0].Name != "tbpods-server" {
			t.Errorf("left are %d pods", len(left))
		}
	})
}

// measured runs an experiment of one trial, and returns its details.
func measured(t *testing.T, call func(...string) (string, error), file string) result.Details {
	t.Helper()
	dir := t.TempDir()
	if out, err := call("run", file, "--out", dir); err != nil && !labtest.NoneValid(out) {
		t.Fatalf("nines run: %v: %s", err, out)
	}
	r, err := result.Open(filepath.Join(dir, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Summary.Trials) != 1 || isBroken(r.Summary.Trials[0]) {
		t.Fatalf("its trials are %+v", r.Summary.Trials)
	}
	for _, b := range r.Baselines {
		if isBroken(b.Trial) || b.RxPackets > b.TxPackets {
			t.Errorf("a baseline is %+v", b)
		}
	}
	if len(r.Baselines) != 2 {
		t.Errorf("%d baselines, and not one before and one after", len(r.Baselines))
	}
	details, err := r.TrialFolder(r.Summary.Trials[0].ID).Details()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(details.Notes, "\n"), "is pod default/tbpods-client on the cluster's node n1") {
		t.Errorf("the notes do not say where the pods were: %q", details.Notes)
	}
	return details
}

// isBroken is true for a trial that is no use, but for one whose packets a busy host did not let the engine
// send in time.
func isBroken(t result.Trial) bool {
	late := func() bool {
		return strings.HasPrefix(t.Reasons[0], "offered ") || strings.HasPrefix(t.Reasons[0], "the median packet left ")
	}
	return t.RxPackets == 0 || t.Verdict == result.Invalid && !late()
}

func (c *cluster) pods(t *testing.T) []v1.Pod {
	t.Helper()
	var list *v1.PodList
	eventually(t, "list the pods", func(ctx context.Context) (err error) {
		list, err = c.client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err
	})
	return list.Items
}

func (c *cluster) noPods(t *testing.T) {
	t.Helper()
	for _, pod := range c.pods(t) {
		t.Errorf("pod %s is left", pod.Name)
	}
}

// foreign makes a pod that has the labels of a pod of nines, of another lab. No node takes it.
func (c *cluster) foreign(t *testing.T, name string) {
	t.Helper()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{node.PodLabToken: "nines-other"}},
		Spec: v1.PodSpec{
			NodeSelector: map[string]string{"nobody": "has-it"},
			Containers:   []v1.Container{{Name: "it", Image: "none"}},
		},
	}
	eventually(t, "make someone's pod", func(ctx context.Context) error {
		_, err := c.client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}
