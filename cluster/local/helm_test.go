package local_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestHelmInstallsIt has the real helm install the chart on a real cluster, as docs/cluster.md says,
// change it, and remove it.
func TestHelmInstallsIt(t *testing.T) {
	labtest.LongForm(t)
	c := newCluster(t)
	helm := filepath.Join(programs(t), "helm")
	_, err := exec.LookPath(helm)
	labtest.Require(t, "helm (NINES_LONG=1 make setup-cluster)", err == nil)
	up := []string{"up", "--nodes", "1", "--name", c.name}
	for _, kind := range []string{"agent", "scheduler"} {
		archive := filepath.Join(t.TempDir(), kind+".tar")
		c.must("image", kind, archive)
		up = append(up, "--image", archive)
	}
	c.must(up...)
	// Helm's own files: not in the home of who runs the tests.
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		c.env = append(c.env, name+"="+t.TempDir())
	}
	call := func(arguments ...string) (string, error) {
		out, err := c.command(helm, append(arguments, "--namespace", "nines")...).CombinedOutput()
		return string(out), err
	}
	kubectl := func(arguments ...string) string {
		t.Helper()
		return c.must(append([]string{"kubectl", "--name", c.name, "--"}, arguments...)...)
	}
	kubectl("create", "namespace", "nines")
	kubectl("label", "namespace", "nines", "pod-security.kubernetes.io/enforce=privileged")
	chart := repositoryFile("cluster/deploy/chart")
	// A cluster of nines cluster up has the roles of the scheduler's plugin already, which are not Helm's.
	values := []string{
		chart, "--take-ownership", "--wait", "--timeout", "5m", "--set", "scheduler.enabled=true",
		"--set", "agent.tiers={veth}", "--set", "agent.idle=0", "--set", "agent.interval=20s", "--set", "agent.duration=1s", "--set", "agent.rate=200",
	}
	if out, err := call(append([]string{"install", "nines"}, values...)...); err != nil || !strings.Contains(out, "STATUS: deployed") || !strings.Contains(out, "kubectl get nodelatencies") {
		t.Fatalf("helm install: %v: %s\n%s%s", err, out, kubectl("get", "all", "--all-namespaces"), c.logs())
	}
	eventually(t, "a figure of n1", func(context.Context) error {
		out, _, err := c.run("kubectl", "--name", c.name, "--", "get", "nodelatency", "n1", "-o", "jsonpath={.figures[0].tier}")
		if err != nil || out != "veth" {
			return errors.Join(fmt.Errorf("%w: %s", errNotYet, out), asked(c.agentLog))
		}
		return nil
	})
	c.placedBySecond(t)

	// What is changed reaches the agents, and what is wrong is refused.
	if out, err := call(append([]string{"upgrade", "nines", "--set", "agent.onBroken=evict"}, values...)...); err != nil {
		t.Fatalf("helm upgrade: %v: %s", err, out)
	}
	if args := kubectl("--namespace", "nines", "get", "daemonset", "nines-agent", "-o", "jsonpath={.spec.template.spec.containers[0].args}"); !strings.Contains(args, "--on-broken=evict") {
		t.Errorf("the agents are called with %s", args)
	}
	if out, err := call(append([]string{"upgrade", "nines", "--set", "agnet.rate=1"}, values...)...); err == nil || !strings.Contains(out, "agnet") {
		t.Errorf("a value that is no value of the chart: %v: %s", err, out)
	}

	if out, err := call("uninstall", "nines", "--wait", "--timeout", "5m"); err != nil {
		t.Fatalf("helm uninstall: %v: %s", err, out)
	}
	eventually(t, "nothing is left but the definition", func(context.Context) error {
		left := kubectl("--namespace", "nines", "get", "daemonsets,deployments,pods,services,configmaps,roles,serviceaccounts", "-o", "name")
		left += kubectl("get", "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name")
		for line := range strings.Lines(left) {
			if strings.Contains(line, "nines") {
				return fmt.Errorf("%w: %s", errNotYet, left)
			}
		}
		return nil
	})
	kubectl("get", "nodelatency", "n1")
}
