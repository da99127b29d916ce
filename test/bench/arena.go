package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// arena is a lab with one link, from a to b: where nines and its peers alternate.
type arena struct {
	lab  *lab.Lab
	plan *plan.Plan
}

// end is where one side of a peer runs.
type end struct {
	node string
	cpu  int
	ip   string
}

// near is where the packets start, and far where they arrive, or where a node reflects them.
func (a *arena) near() end {
	t := a.plan.Traffic
	return end{t.From.Node, t.FromCPU, t.From.LocalIP}
}

func (a *arena) far() end {
	t := a.plan.Traffic
	if !t.RoundTrip {
		return end{t.To.Node, t.ToCPU, t.To.LocalIP}
	}
	for _, n := range a.plan.Nodes {
		if n.App != nil {
			return end{n.Name, n.App.CPU, t.From.PeerIP}
		}
	}
	return end{}
}

// stream is one way of sending from a to b.
type stream struct {
	backend spec.Backend
	sink    spec.Backend // empty: the same
	io      spec.IO
	wait    spec.Wait
	burst   int
	ratePPS float64 // 0: unlimited
	seconds float64
	record  bool // record every packet, to disk
}

// openArena connects two nodes by a link, for the kernel's backends.
func openArena(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (*arena, error) {
	return open(ctx, inventory, fmt.Sprintf(`name: bench-%s
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 1000}
`, kind, kind))
}

// openReflector connects two nodes by a link; the second returns what the first sends. What runs in
// them is scheduled by FIFO, to exclude other work on the machine from the comparison.
func openReflector(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (*arena, error) {
	return open(ctx, inventory, fmt.Sprintf(`name: bench-%s
topology:
  nodes:
    a: {scheduling: {policy: fifo, priority: 1}}
    b: {scheduling: {policy: fifo, priority: 1}, app: {kind: reflect}}
  links: [{name: wire, kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "a:eth", rate_pps: 1000}
`, kind, kind))
}

// open brings up the lab of an experiment file.
func open(ctx context.Context, inventory *host.Inventory, text string) (*arena, error) {
	file, err := spec.Load("bench.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	experiment, err := file.Experiment()
	if err != nil {
		return nil, err
	}
	p, err := plan.Make(experiment, inventory)
	if err != nil {
		return nil, err
	}
	l, err := lab.Up(ctx, lab.UpOptions{Plan: p, Experiment: []byte(text)})
	if err != nil {
		return nil, err
	}
	return &arena{lab: l, plan: p}, nil
}

func (a *arena) close() error { return a.lab.Down(context.Background()) }

// send runs one trial and returns the results of both ends.
func (a *arena) send(ctx context.Context, s stream) (outcome traffic.Outcome, err error) {
	t := *a.plan.Traffic
	t.Stream.Backend, t.Stream.IO, t.Stream.Wait, t.Stream.Burst = s.backend, s.io, s.wait, max(s.burst, 1)
	t.To.Backend = s.sink
	t.Stream.RatePPS = s.ratePPS
	t.Stream.Warmup = spec.Duration(200 * time.Millisecond)
	t.Stream.Duration = spec.Duration(s.seconds * float64(time.Second))
	t.Stream.Drain = spec.Duration(200 * time.Millisecond)
	t.Stream.Outliers = 100
	if s.record {
		t.Stream.Packets = spec.PacketsRecord
	}
	generator, err := traffic.Start(ctx, a.lab, recordingFolder, &t)
	if err != nil {
		return traffic.Outcome{}, err
	}
	defer func() { err = errors.Join(err, generator.Close()) }()
	outcome, err = generator.Run(ctx, t.Stream, 1, nil)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return outcome, err
}

// ratesPPS returns the sent and received rates, counting each packet once, with its latency
// recorded.
func (a *arena) ratesPPS(ctx context.Context, s stream) (sent, received float64, err error) {
	outcome, err := a.send(ctx, s)
	return float64(outcome.Tx.TxPackets) / s.seconds, float64(outcome.Rx.RxPackets) / s.seconds, err
}
