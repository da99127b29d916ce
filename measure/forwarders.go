package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/engine/client"
	labengine "nines.dev/nines/lab/engine"
	"nines.dev/nines/plan"
)

// forwarder is what an engine between the ends did in a trial.
type forwarder struct {
	node  string
	stats client.Stats
}

// forwarderProbe counts what the engines on the path do.
type forwarderProbe struct {
	bench *bench
	plan  *plan.Plan
}

// begin resets their counters.
func (p *forwarderProbe) begin(context.Context) error {
	return p.bench.eachForwarder(p.plan, func(node plan.Node, engine *client.Client) error {
		stats, err := engine.Stop()
		if err != nil {
			return err
		}
		hello, err := engine.Hello()
		if err != nil {
			return err
		}
		serve := labengine.Serve(node, hello)
		for _, port := range stats.Ports {
			serve.Ports = append(serve.Ports, port.Port)
		}
		return engine.Serve(serve)
	})
}

// end reads them. An engine that died, alone or with its node, cannot answer, which makes the trial invalid.
func (p *forwarderProbe) end(_ context.Context, o *observation) error {
	err := p.bench.eachForwarder(p.plan, func(node plan.Node, engine *client.Client) error {
		stats, err := engine.Stats()
		o.forwarders = append(o.forwarders, forwarder{node: node.Name, stats: stats})
		return err
	})
	if len(o.faults) > 0 {
		return nil
	}
	return err
}

// forwarderPatience is how long a forwarding engine may take to answer.
const forwarderPatience = 5 * time.Second

// eachForwarder asks the engines of the apps of all nodes that are on.
func (b *bench) eachForwarder(p *plan.Plan, do func(plan.Node, *client.Client) error) error {
	if err := b.health(); err != nil { // otherwise the wait for its engine would time out
		return err
	}
	for _, node := range p.Nodes {
		if !node.App.Handling().HasEngine() || b.lab.Stopped(node.Name) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), forwarderPatience)
		engine, err := client.Dial(ctx, b.lab.EngineSocket(node.Name))
		cancel()
		if err == nil {
			err = errors.Join(do(node, engine), engine.Close())
		}
		if err != nil {
			return fmt.Errorf("node %s: its engine: %w", node.Name, err)
		}
	}
	return nil
}
