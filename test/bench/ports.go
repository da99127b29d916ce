package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/host"
)

const (
	// portsRounds are how often the pods of each way are made; the figure is the median.
	portsRounds = 7
	// podsAtOnce are as many as a node of multus #1344 gets.
	podsAtOnce   = 8
	portsCluster = "nines-bench"
)

// portsFile gives the node's pods an interface or a socket each.
const portsFile = `ports:
- {tier: macvlan, parent: eth0, count: 8, addresses: 10.77.0.11/24}
- {tier: switch, count: 8}
- {tier: xdp, parent: polled, count: 2, afXDP: true}
`

// portsObjects are what pods get their ports by: claims of both tiers, and a network of Multus for the peer.
const portsObjects = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: macvlan}
spec: {spec: {devices: {requests: [{name: fast, exactly: {deviceClassName: macvlan.nines.dev}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: switch}
spec: {spec: {devices: {requests: [{name: fast, exactly: {deviceClassName: switch.nines.dev}}]}}}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: peer}
spec:
  config: |
    {"cniVersion": "1.0.0", "name": "peer", "type": "macvlan", "master": "eth0", "mode": "bridge",
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.78.0.0/24"}]], "dataDir": "/run/cni-addresses"}}
`

// way is how pods get a port: by a claim made of a template, or by Multus.
type way struct{ template, network string }

// manifest is podsAtOnce pods.
func (w way) manifest() string {
	var text strings.Builder
	for i := range podsAtOnce {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: bench-%d\n  labels: {bench: ports}\n", i)
		claims, uses := "", ""
		if w.network != "" {
			fmt.Fprintf(&text, "  annotations: {k8s.v1.cni.cncf.io/networks: %s}\n", w.network)
		}
		if w.template != "" {
			claims = fmt.Sprintf("  resourceClaims: [{name: net, resourceClaimTemplateName: %s}]\n", w.template)
			uses = "    resources: {claims: [{name: net}]}\n"
		}
		fmt.Fprintf(&text, "spec:\n  terminationGracePeriodSeconds: 0\n%s  containers:\n  - name: it\n    image: nines.local/busybox:1\n    imagePullPolicy: Never\n    command: [sleep, \"100000\"]\n%s", claims, uses)
	}
	return text.String()
}

// benchPorts has two groups of rows. How fast pods get ports: it makes pods with a port each, all at once on one
// node of a local cluster, until all are ready. The peer is Multus with the CNI project's macvlan plugin on the
// same node, whose pods have their first network by Multus in either case. And what two pods get of their node's
// switch, beside two containers of a lab; they take turns beside the same cluster, whose programs share the CPUs
// with either.
func benchPorts(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	return withPorts(ctx, func(c benchedCluster) ([]Row, error) {
		rows, err := c.measure(ctx)
		if err != nil {
			return nil, err
		}
		kubeconfig, err := c.kubeconfig(ctx)
		if err != nil {
			return nil, err
		}
		for _, way := range switchWays {
			var pods, containers switchFigures
			for range switchRounds {
				if err := containers.containers(ctx, inventory, way); err != nil {
					return nil, err
				}
				if err := pods.pods(ctx, inventory, way, kubeconfig, "n1"); err != nil {
					return nil, err
				}
			}
			rows = append(rows, switchRows(way, pods, containers)...)
		}
		return rows, nil
	})
}

// withPorts calls f with a local cluster of one node, whose pods can have ports by claims and by Multus.
func withPorts(ctx context.Context, f func(benchedCluster) ([]Row, error)) (_ []Row, err error) {
	root, err := os.Getwd() // make bench runs in the checkout's
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "cluster", "nines-kube")); err != nil {
		return nil, fmt.Errorf("the cluster's programs are not built: run make setup-cluster: %w", err)
	}
	dir, err := os.MkdirTemp("", "nines-bench-ports-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "ports.yaml")
	if err := os.WriteFile(file, []byte(portsFile), 0o600); err != nil {
		return nil, err
	}
	c := benchedCluster{program: filepath.Join(root, "bin", "nines")}
	if err := c.call(ctx, "", "up", "--name", portsCluster, "--nodes", "1", "--multus", "--ports", file, "--timeout", "5m"); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, c.call(context.WithoutCancel(ctx), "", "down", "--name", portsCluster))
	}()
	for _, arguments := range [][]string{
		{"apply", "--kustomize", filepath.Join(root, "cluster", "deploy", "multus")},
		{"wait", "--for=condition=Established", "--timeout=2m", "crd/network-attachment-definitions.k8s.cni.cncf.io"},
	} {
		if err := c.kubectl(ctx, "", arguments...); err != nil {
			return nil, err
		}
	}
	if err := c.kubectl(ctx, portsObjects, "apply", "--filename", "-"); err != nil {
		return nil, err
	}
	return f(c)
}

// measure has the ways take turns. The first round is not counted: images are unpacked in it.
func (c benchedCluster) measure(ctx context.Context) ([]Row, error) {
	ways := map[string]way{"macvlan": {template: "macvlan"}, "switch": {template: "switch"}, "peer": {network: "peer"}}
	ready := map[string][]float64{}
	for round := range portsRounds + 1 {
		for name, way := range ways {
			seconds, err := c.podsComeAndGo(ctx, way)
			if err != nil {
				return nil, fmt.Errorf("pods with %s: %w", name, err)
			}
			if round > 0 {
				ready[name] = append(ready[name], seconds)
			}
		}
	}
	row := func(name, what string) Row {
		goal, met := atMost(1)
		return compare(fmt.Sprintf("%d pods with a %s by a claim: from made to ready", podsAtOnce, what),
			"s", median(ready[name]), "Multus, macvlan", median(ready["peer"]), goal, met)
	}
	return []Row{row("macvlan", "macvlan interface"), row("switch", "socket of the switch")}, nil
}

// podsComeAndGo returns how many seconds it takes until all pods are ready, and deletes them.
func (c benchedCluster) podsComeAndGo(ctx context.Context, w way) (ready float64, err error) {
	started := time.Now()
	if err := c.kubectl(ctx, w.manifest(), "apply", "--filename", "-"); err != nil {
		return 0, err
	}
	if err := c.kubectl(ctx, "", "wait", "--for=condition=Ready", "--timeout=3m", "pod", "--selector", "bench=ports"); err != nil {
		return 0, err
	}
	ready = time.Since(started).Seconds()
	return ready, c.kubectl(ctx, "", "delete", "pod", "--selector", "bench=ports", "--timeout=3m")
}

// benchedCluster is the local cluster of this group.
type benchedCluster struct{ program string }

func (c benchedCluster) kubectl(ctx context.Context, input string, arguments ...string) error {
	return c.call(ctx, input, append([]string{"kubectl", "--name", portsCluster, "--"}, arguments...)...)
}

// call runs a verb of `nines cluster`.
func (c benchedCluster) call(ctx context.Context, input string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, c.program, append([]string{"cluster"}, arguments...)...)
	cmd.Stdin = strings.NewReader(input)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nines cluster %s: %w\n%s", strings.Join(arguments, " "), err, text[max(0, len(text)-2000):])
	}
	return nil
}
