package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
)

const (
	// switchRounds are how often two pods are measured over their node's switch, and two containers of a lab.
	switchRounds = 6
	// switchLightPPS is a load at which nothing queues.
	switchLightPPS = 10_000
)

// A switchWay is how two ends reach each other over a switch of nines: by which link of a lab, by which class of ports
// in pods, and by which backend.
type switchWay struct{ name, link, class, backend string }

// switchWays are the switch that polls, with ends that poll, too, and so need a CPU each, and with ends that sleep until
// it wakes them; and the one of XDP programs, whose ends sleep.
var switchWays = []switchWay{
	{"their node's switch", "kind: switch", "switch.nines.dev", "backend: dpdk"},
	{"their node's switch, asleep between packets", "kind: switch", "switch.nines.dev", "backend: dpdk, wait: block"},
	{"XDP programs by AF_XDP", "kind: xdp", "af-xdp.nines.dev", "backend: xdp, wait: block"},
}

// overSwitch is one way between two nodes over a switch of nines, at an unlimited rate and at a light load.
const overSwitch = `
name: bench-over-switch
%s
topology:
  nodes: {sender: {%[2]s}, receiver: {%[2]s}}
  links: [{name: fast, %[3]s, endpoints: ["sender:fast0", "receiver:fast0"]}]
dpdk: {hugepages: none}
traffic: {from: "sender:fast0", to: "receiver:fast0", %[4]s, warmup: 300ms, duration: 2s}
sweep: {traffic.rate_pps: [0, %[5]d]}
`

// switchFigures are what two ends get of a switch, by round.
type switchFigures struct{ pps, p99 []float64 }

// containers measures two containers of a lab.
func (f *switchFigures) containers(ctx context.Context, inventory *host.Inventory, way switchWay) error {
	return f.round(ctx, inventory, fmt.Sprintf(overSwitch, "", "runtime: lxc", way.link, way.backend, switchLightPPS))
}

// pods measures two pods of a node of the cluster.
func (f *switchFigures) pods(ctx context.Context, inventory *host.Inventory, way switchWay, kubeconfig, node string) error {
	cluster := fmt.Sprintf("cluster: {clock: shared, kubeconfig: %q}", kubeconfig)
	return f.round(ctx, inventory, fmt.Sprintf(overSwitch, cluster, "runtime: pod, host: "+node, "kind: pod-port, class: "+way.class, way.backend, switchLightPPS))
}

func (f *switchFigures) round(ctx context.Context, inventory *host.Inventory, text string) error {
	done, err := runExperiment(ctx, inventory, text)
	if err != nil {
		return err
	}
	const rate = "traffic.rate_pps"
	pps, err := each(done, rate, func(t result.Trial) *float64 { return t.ReceivedPPS() })
	if err != nil {
		return err
	}
	p99, err := each(done, rate, microsOf(func(p result.Percentiles) *int64 { return p.P99 }))
	if err != nil {
		return err
	}
	f.pps = append(f.pps, pps["0"]...)
	f.p99 = append(f.p99, p99[fmt.Sprint(switchLightPPS)]...)
	return nil
}

// switchRows compare two pods with two containers.
func switchRows(way switchWay, pods, containers switchFigures) []Row {
	const peer = "two containers of a lab"
	rate, rateMet := atLeast(0.9)
	late, lateMet := atMost(1.1)
	return []Row{
		compare(fmt.Sprintf("two pods over %s: rate", way.name), "Mpps", median(pods.pps)/1e6, peer, median(containers.pps)/1e6, rate, rateMet),
		compare(fmt.Sprintf("two pods over %s: p99 at %d kpps", way.name, switchLightPPS/1000), "µs", median(pods.p99), peer, median(containers.p99), late, lateMet),
	}
}

// kubeconfig is the path of the cluster's.
func (c benchedCluster) kubeconfig(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, c.program, "cluster", "kubeconfig", "--path", "--name", portsCluster)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("nines cluster kubeconfig: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
