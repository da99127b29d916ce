package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

const (
	scaleNodes   = 1000
	mininetHosts = 100
)

// benchScale brings a ring of 1,000 network namespaces, connected by 1,000 veth pairs, up and down.
// The peer is Mininet's star of 100 hosts, times ten; its time includes starting and stopping.
func benchScale(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	experiment, err := loadRing(scaleNodes)
	if err != nil {
		return nil, err
	}
	p, err := plan.Make(experiment, inventory)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	l, err := lab.Up(ctx, lab.UpOptions{Plan: p, Experiment: []byte("# made by the bench\n")})
	if err != nil {
		return nil, err
	}
	up := time.Since(started)
	started = time.Now()
	if err := l.Down(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	down := time.Since(started)

	tenSeconds, met := "<= 1", func(ratio float64) bool { return ratio <= 1 }
	rows := []Row{
		compare("1000 nodes, 1000 veth links: up", "s", up.Seconds(), "goal", 10, tenSeconds, met),
		compare("1000 nodes, 1000 veth links: down", "s", down.Seconds(), "goal", 10, tenSeconds, met),
	}
	mininet, err := timeMininet(ctx)
	if err != nil {
		return rows, err
	}
	extrapolated := mininet.Seconds() * scaleNodes / mininetHosts
	goal, met := atMost(1)
	return append(rows, compare("1000 nodes: up and down", "s", (up+down).Seconds(),
		fmt.Sprintf("Mininet single,%d × %d", mininetHosts, scaleNodes/mininetHosts), extrapolated, goal, met)), nil
}

func loadRing(nodes int) (*spec.Experiment, error) {
	var text strings.Builder
	text.WriteString("name: ring\ntopology:\n  nodes:\n")
	for i := range nodes {
		fmt.Fprintf(&text, "    n%d: {runtime: netns}\n", i)
	}
	text.WriteString("  links:\n")
	for i := range nodes {
		fmt.Fprintf(&text, "    - {kind: veth, endpoints: [\"n%d:right\", \"n%d:left\"]}\n", i, (i+1)%nodes)
	}
	file, err := spec.Load("ring.yaml", []byte(text.String()))
	if err != nil {
		return nil, err
	}
	return file.Experiment()
}

// timeMininet starts and stops a star of hosts around one Linux bridge.
func timeMininet(ctx context.Context) (time.Duration, error) {
	if _, err := exec.LookPath("mn"); err != nil {
		return 0, missingPeer("mininet")
	}
	started := time.Now()
	out, err := exec.CommandContext(ctx, "mn", "--topo", fmt.Sprintf("single,%d", mininetHosts),
		"--switch", "lxbr", "--controller", "none", "--test", "none").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("mininet: %w: %s", err, out)
	}
	return time.Since(started), nil
}
