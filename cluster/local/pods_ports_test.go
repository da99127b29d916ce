package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// anExperiment runs the example that users have, over the cluster's network and over ports that its pods claim,
// and once more over those of an overlay.
//
//	host ── nines run ── API server ── n1 ── pod client ── macvlan, OVN ── pod server ── n2
func (c *cluster) anExperiment(t *testing.T) {
	nines, err := node.Program("nines")
	labtest.Require(t, "nines (make build)", err == nil)
	t.Cleanup(func() {
		for _, lab := range []string{"pods-tiers", "pods-switch", "pods-af-xdp"} {
			_ = c.command(nines, "down", lab).Run()
		}
	})
	run := func(example string, arguments ...string) []result.Details {
		t.Helper()
		dir := t.TempDir()
		out, err := c.command(nines, append([]string{"run", repositoryFile("examples/cluster/" + example), "--out", dir,
			"--set", "repeat=1", "--set", "traffic.rate_pps=500", "--set", "traffic.duration=1s"}, arguments...)...).CombinedOutput()
		if err != nil && !labtest.NoneValid(string(out)) {
			t.Fatalf("nines run %q: %v: %s", arguments, err, out)
		}
		r, err := result.Open(filepath.Join(dir, "latest"))
		if err != nil {
			t.Fatal(err)
		}
		var all []result.Details
		for _, trial := range r.Summary.Trials {
			if trial.RxPackets == 0 { // a busy host makes it invalid, with packets
				t.Errorf("trial %+v", trial)
			}
			details, err := r.TrialFolder(trial.ID).Details()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, details)
		}
		return all
	}
	trials := run("pods-tiers.yaml")
	if len(trials) != 2 {
		t.Fatalf("%d trials", len(trials))
	}
	for _, trial := range trials {
		c.hasPorts(t, trial, "macvlan-eth0-", "10.77.0.")
	}
	trials = run("pods-tiers.yaml", "--set", "tier=macvlan", "--set", "links.fast.class=ovn.nines.dev")
	if len(trials) != 1 {
		t.Fatalf("%d trials over the overlay", len(trials))
	}
	c.hasPorts(t, trials[0], "ovn-lan-", "10.88.0.")

	trials = run("pods-switch.yaml")
	if len(trials) != 1 || len(trials[0].Devices) != 2 || trials[0].Devices[1].Values["socket"] == "" {
		t.Errorf("over the switch: %+v", trials)
	}
	trials = run("pods-af-xdp.yaml")
	if len(trials) != 1 || len(trials[0].Devices) != 2 || trials[0].Devices[1].Values["socket_map"] == "" {
		t.Errorf("by AF_XDP: %+v", trials)
	}
	out, err := c.command(nines, "up", repositoryFile("examples/cluster/pods-switch.yaml"), "--set", "nodes.receiver.host=n2").CombinedOutput()
	if exitCode(err) != 2 || !strings.Contains(string(out), "reaches only pods of its node") {
		t.Errorf("pods on two switches: %v: %s", err, out)
	}
	out, err = c.command(nines, "up", repositoryFile("examples/cluster/pods-switch.yaml"), "--set", "links.fast.class=macvlan.nines.dev").CombinedOutput()
	if exitCode(err) != 2 || !strings.Contains(string(out), "needs a class of vhost-user sockets") {
		t.Errorf("DPDK on an interface: %v: %s", err, out)
	}

	out, err = c.command(nines, "up", repositoryFile("examples/cluster/pods-af-xdp.yaml"), "--set", "links.fast.class=macvlan.nines.dev").CombinedOutput()
	if exitCode(err) != 2 || !strings.Contains(string(out), "needs a class of maps for AF_XDP sockets") {
		t.Errorf("AF_XDP without a map: %v: %s", err, out)
	}

	c.leavesOut(t, nines)

	out, err = c.command(nines, "up", repositoryFile("examples/cluster/pods-tiers.yaml"), "--set", "tier=macvlan", "--set", "links.fast.class=none.nines.dev").CombinedOutput()
	if exitCode(err) != 2 || !strings.Contains(string(out), "no DeviceClass none.nines.dev") {
		t.Errorf("a class that the cluster has not: %v: %s", err, out)
	}
	eventually(t, "the claims have gone with their pods", func(ctx context.Context) error {
		claims, err := c.client().ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{LabelSelector: "nines.dev/lab"})
		if err == nil && len(claims.Items) > 0 {
			err = fmt.Errorf("%w: %d are left", errNotYet, len(claims.Items))
		}
		return err
	})
}

// leavesOut runs the example with a tier more, of a class that the cluster does not have: the others are measured.
func (c *cluster) leavesOut(t *testing.T, nines string) {
	t.Helper()
	text, err := os.ReadFile(repositoryFile("examples/cluster/pods-tiers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const has, lacks = "    macvlan: {links.fast.class: macvlan.nines.dev}\n", "    none: {links.fast.class: none.nines.dev}\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "tiers.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), has, has+lacks, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := c.command(nines, "run", file, "--out", dir, "--set", "repeat=1", "--set", "traffic.rate_pps=500", "--set", "traffic.duration=500ms").CombinedOutput()
	if exitCode(err) != 3 || !strings.Contains(string(out), "no DeviceClass none.nines.dev") || !strings.Contains(string(out), "1 of 3 runs are left out, the first with tier=none") {
		t.Fatalf("a sweep with a class that the cluster has not: %v: %s", err, out)
	}
	r, err := result.Open(filepath.Join(dir, "latest"))
	if err != nil || len(r.Summary.Trials) != 2 || len(r.Summary.Skipped) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// hasPorts fails unless a trial says which ports its pods had.
func (c *cluster) hasPorts(t *testing.T, trial result.Details, port, address string) {
	t.Helper()
	found := 0
	for _, device := range trial.Devices {
		if strings.Contains(device.Values["port"], "/"+port) && strings.HasPrefix(device.Values["address"], address) {
			found++
		}
	}
	if found != 2 {
		t.Errorf("the trial's devices are %+v", trial.Devices)
	}
}
