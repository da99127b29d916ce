package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pairPorts are ends of pairs at a bridge of n1, and one that receives by the node's card.
const pairPorts = `ports:
- {tier: bridge, parent: br0, count: 2, nodes: [n1], addresses: 10.66.0.11/24}
- {tier: macvlan, parent: eth0, count: 2, nodes: [n1]}
`

// TestPodsHaveCPUsAndPortsToThemselves has pods ask for CPUs that nothing else uses, and for another way to
// receive. Real kubelets give them whole CPUs; a process of the node stands for its other programs. The settings
// of interrupts are the host's, and no node of this cluster may change them.
//
//	n1: process ── any CPU, then CPU 0 only         pod alone: CPU 1, net1 ── br0 (10.66.0.1)
func TestPodsHaveCPUsAndPortsToThemselves(t *testing.T) {
	c := newCluster(t)
	before := settings(t)
	file := filepath.Join(t.TempDir(), "ports.yaml")
	if err := os.WriteFile(file, []byte(pairPorts), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("up", "--nodes", "1", "--agent", "--ports", file, "--name", c.name)
	c.kubectl("--namespace", "nines", "patch", "daemonset", "nines-agent", "--type=json", "--patch",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["agent","--idle","0","--interval","1h","--duration","1s","--tiers","veth","--peers","0"]}]`)
	// On a host of two CPUs a node has one to give, and the pod takes it whole.
	c.kubectl("--namespace", "nines", "delete", "daemonset", "nines-switch")
	for _, set := range []string{"nines-agent", "nines-ports"} {
		c.kubectl("--namespace", "nines", "patch", "daemonset", set, "--type=json", "--patch",
			`[{"op":"replace","path":"/spec/template/spec/containers/0/resources","value":{}}]`)
		c.kubectl("--namespace", "nines", "rollout", "status", "daemonset/"+set, "--timeout=180s")
	}
	for _, words := range []string{"link add br0 type bridge", "address add 10.66.0.1/24 dev br0", "link set br0 up"} {
		c.inNode("n1", true, append([]string{"ip"}, strings.Fields(words)...)...)
	}
	// The kubelet takes a minute to try a claim again whose driver is not there yet.
	eventually(t, "n1 offers its ports", func(context.Context) error {
		if slices := c.kubectl("get", "resourceslices", "-o", "yaml"); !strings.Contains(slices, "bridge-br0-2") || !strings.Contains(slices, "macvlan-eth0-2") {
			return fmt.Errorf("%w: %s", errNotYet, slices)
		}
		return nil
	})
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/own-cpus.yaml"))
	// One process of the node's that is in no pod.
	other := exec.Command("nsenter", "--target", fmt.Sprint(c.nodePID("n1")), "--mount", "--pid", "--cgroup", "--", "sleep", "100000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	every := onlyChildMask(t, other.Process.Pid)

	t.Run("BothAreGiven", func(t *testing.T) {
		c.running("alone")
		c.event("alone", "Isolated")
		c.event("alone", "ReceiveModeSet")
		if now := settings(t); now != before {
			t.Errorf("the host's settings were\n%s\nand are\n%s", before, now)
		}
		own := c.polls(t)
		eventually(t, "other processes are kept off its CPU", func(context.Context) error {
			if mask := onlyChildMask(t, other.Process.Pid); mask == every || strings.Contains(mask, own) {
				return fmt.Errorf("%w: a process of the node may run on the CPUs %s, and the pod has %s", errNotYet, mask, own)
			}
			return nil
		})
		c.explains("alone", "isolation isolated: other programs of the node and movable kernel threads are kept off its CPU ")
		c.explains("alone", "rx busy_poll of net1")
	})
	t.Run("WhatCannotBeHadIsRefused", func(t *testing.T) {
		c.running("modest")
		c.event("modest", "IsolationRefused")
		c.event("modest", "ReceiveModeRefused")
		c.explains("modest", "cpuManagerPolicy: static")
		c.explains("modest", "use a port of the tier bridge, ovn or sriov")
	})
	t.Run("AKilledAgentIsFollowedByOneThatGoesOn", func(t *testing.T) {
		c.killPrograms("agent")
		eventually(t, "the next agent", func(context.Context) error {
			if again := c.kubectl("--namespace", "nines", "get", "pods", "--selector", "app=nines-agent", "-o",
				"jsonpath={.items[0].status.containerStatuses[0].restartCount} {.items[0].status.containerStatuses[0].ready}"); again != "1 true" {
				return fmt.Errorf("%w: %s", errNotYet, again)
			}
			return nil
		})
		c.polls(t)
		if mask := onlyChildMask(t, other.Process.Pid); mask == every {
			t.Errorf("a process of the node may run on the CPUs %s", mask)
		}
	})
	t.Run("WithoutTheAnnotationsItIsUndone", func(t *testing.T) {
		c.kubectl("annotate", "pod", "alone", "nines.dev/isolation-", "nines.dev/rx-")
		c.event("alone", "IsolationEnded")
		c.event("alone", "ReceiveModeEnded")
		c.asBefore(t, before, every, other.Process.Pid)
	})
	t.Run("ItGoesWithThePod", func(t *testing.T) {
		c.kubectl("annotate", "pod", "alone", "nines.dev/isolation=isolated", "nines.dev/rx=threaded")
		eventually(t, "the pod is isolated again", func(context.Context) error {
			if mask := onlyChildMask(t, other.Process.Pid); mask == every {
				return errNotYet
			}
			return nil
		})
		c.explains("alone", "rx threaded of net1")
		c.killPrograms("agent")
		c.gone("alone")
		c.asBefore(t, before, every, other.Process.Pid)
	})
	c.gone("modest")
	eventually(t, "n1 has its ports back", func(context.Context) error {
		if held := c.onNode("n1", "ls", "/run/nines/ports"); held != "" {
			return fmt.Errorf("%w: %q", errNotYet, held)
		}
		return nil
	})
}

// settings are those of the whole host that isolation changes.
func settings(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("/proc/irq/*/smp_affinity_list")
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, "/proc/irq/default_smp_affinity", "/sys/devices/virtual/workqueue/cpumask")
	var lines []string
	for _, path := range paths {
		text, _ := os.ReadFile(path) // an interrupt may be gone now
		lines = append(lines, path+" "+strings.TrimSpace(string(text)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// onlyChildMask is the CPUs that the child of a process may use: nsenter starts one in a namespace of process IDs.
func onlyChildMask(t *testing.T, pid int) (mask string) {
	t.Helper()
	eventually(t, "the process of the node", func(context.Context) error {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			return err
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%s/status", strings.TrimSpace(string(children))))
		_, list, found := strings.Cut(string(status), "Cpus_allowed_list:\t")
		if err != nil || !found {
			return fmt.Errorf("%w: %w", errNotYet, err)
		}
		mask, _, _ = strings.Cut(list, "\n")
		return nil
	})
	return mask
}

// poller is the process, as the node sees it, that polls for the pod "alone"; 0 for none.
func (c *cluster) poller(t *testing.T) int {
	t.Helper()
	var session struct {
		Done    bool
		Running struct {
			Mechanism string
			Poller    struct{ PID int }
		}
	}
	pod, err := c.client().CoreV1().Pods("default").Get(t.Context(), "alone", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.fileOf("n1", fmt.Sprintf("run/nines/kbp/pod-%s/session.json", pod.UID)))
	if err != nil || json.Unmarshal(text, &session) != nil || !session.Done {
		return 0
	}
	return session.Running.Poller.PID
}

// fileOf is where the host has a file of a node.
func (c *cluster) fileOf(node, path string) string {
	return filepath.Join("/proc", fmt.Sprint(c.nodePID(node)), "root", path)
}

// polls checks that the pod's port is polled on a CPU of the pod's, which it returns, and that packets pass.
func (c *cluster) polls(t *testing.T) (own string) {
	t.Helper()
	eventually(t, "the pod's port is polled", func(context.Context) error {
		pid := c.poller(t)
		if pid == 0 {
			return errNotYet
		}
		text, _ := os.ReadFile(c.fileOf("n1", fmt.Sprintf("proc/%d/status", pid))) // none of one that has ended
		_, rest, _ := strings.Cut(string(text), "Cpus_allowed_list:\t")
		own, _, _ = strings.Cut(rest, "\n")
		if _, err := strconv.Atoi(own); err != nil || !strings.Contains(string(text), "nines-poller") {
			return fmt.Errorf("%w: %s", errNotYet, text)
		}
		return nil
	})
	if out := c.inNode("n1", true, "ping", "-c", "3", "-i", "0.2", "-W", "5", c.address("alone", "net1")); !strings.Contains(out, " 0% packet loss") {
		t.Errorf("ping: %s", out)
	}
	return own
}

// asBefore waits until nothing is left of what was done for pods.
func (c *cluster) asBefore(t *testing.T, before, mask string, other int) {
	t.Helper()
	eventually(t, "the node is as before", func(context.Context) error {
		if now := settings(t); now != before {
			return fmt.Errorf("%w: settings were\n%s\nand are\n%s", errNotYet, before, now)
		}
		if now := onlyChildMask(t, other); now != mask {
			return fmt.Errorf("%w: the node's process may run on %s, and before on %s", errNotYet, now, mask)
		}
		for _, folder := range []string{"apart", "kbp"} {
			// A lock is left in the folder of sessions.
			left, _ := filepath.Glob(c.fileOf("n1", filepath.Join("run/nines", folder, "[a-z]*")))
			if len(left) > 0 {
				return fmt.Errorf("%w: left is %q", errNotYet, left)
			}
		}
		return nil
	})
}
