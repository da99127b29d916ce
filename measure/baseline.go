package measure

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// baselineDuration is long enough for a baseline's p99.9 at 1,000 packets a second, and short
// compared with the trials.
const baselineDuration = time.Second

// baselinePPS is the baseline rate of a stream whose rate is not known yet: a fraction of a
// maximum, or a search's rate.
const baselinePPS = 10_000

// The names in a baseline's own network.
const (
	baselineTx = "tx"
	baselineRx = "rx"
)

// baselineOf returns the experiment that measures a run's generator alone: the same stream on the
// same CPU, from one end of a veth pair to the other within one node, without a device under test.
// Both ends of a pair of engines become one loop. For DPDK, whose packets would pass the kernel on
// a veth pair, it is memory shared by both ends: one copy and no kernel.
func baselineOf(run *spec.Experiment, p *plan.Plan) *spec.Experiment {
	node := p.Traffic.From.Node
	stream := baselineStream(run)
	stream.Wait = p.Traffic.Stream.Wait
	stream.From, stream.To = node+":"+baselineTx, node+":"+baselineRx
	if stream.Backend == spec.BackendXDP && stream.IO == spec.IOBatch && !p.MayBeXDPFrames(p.Traffic) {
		stream.IO = spec.IOMmsg // the trial's way to send sets the floor
	}
	kind := spec.LinkVeth
	if stream.Backend == spec.BackendDPDK {
		kind, stream.Wait = spec.LinkMemif, spec.WaitSpin // its driver cannot wake a thread
	}
	alone := &spec.Experiment{
		Name: baselineName(run.Name),
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{node: {
				CPUList: baselineCPU(p),
				Sysctls: map[string]string{
					// The kernel must accept its own packets.
					"net.ipv4.conf.all.accept_local":     "1",
					"net.ipv4.conf.default.accept_local": "1",
					"net.ipv4.conf.all.rp_filter":        "0",
					"net.ipv4.conf.default.rp_filter":    "0",
				},
			}},
			Links: []*spec.Link{{Name: "loop", Kind: kind, Endpoints: []string{stream.From, stream.To}}},
		},
		Traffic:   &stream,
		Isolation: baselineIsolation(p),
		Tuning:    p.Tuning,
		Repeat:    1, Order: run.Order,
	}
	if run.DPDK != nil {
		// The user's replacements for the trial's devices do not belong to the floor.
		setup := *run.DPDK
		setup.Device = nil
		alone.DPDK = &setup
	}
	return alone
}

// baselineOfPod is baselineOf for a generator on a cluster: a pod like the generator's, alone on its link,
// sends to its own address, which no packet leaves. That is the one on the cluster's network, which every pod
// has, also where the generator sends by a port that it claims.
func baselineOfPod(run *spec.Experiment, p *plan.Plan) *spec.Experiment {
	name := p.Traffic.From.Node
	end := name + ":" + spec.PodInterface
	stream := baselineStream(run)
	stream.Wait = p.Traffic.Stream.Wait
	stream.From, stream.To = end, end
	asked := run.Topology.Nodes[name]
	return &spec.Experiment{
		Name: baselineName(run.Name),
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{name: {
				Runtime: asked.Runtime, Host: asked.Host, Latency: asked.Latency, CPUs: asked.CPUs, Memory: asked.Memory, Env: asked.Env,
			}},
			Links: []*spec.Link{{Name: "alone", Kind: spec.LinkPodNetwork, Endpoints: []string{end}}},
		},
		Cluster: run.Cluster, Traffic: &stream,
		Repeat: 1, Order: run.Order,
	}
}

// baselineStream is what the generator sends without a device under test, for a short time.
func baselineStream(run *spec.Experiment) spec.Traffic {
	stream := *run.Traffic
	stream.Packets = spec.PacketsNone
	stream.Duration = min(stream.Duration, spec.Duration(baselineDuration))
	stream.Warmup = min(stream.Warmup, spec.Duration(baselineDuration))
	if stream.RateOfMaximum > 0 || run.Method.Search() {
		stream.RateOfMaximum, stream.RatePPS = 0, baselinePPS
	}
	return stream
}

// baselineCPU is the generator's CPU; empty if nothing is pinned.
func baselineCPU(p *plan.Plan) string {
	if p.Traffic.FromCPU < 0 {
		return ""
	}
	return fmt.Sprint(p.Traffic.FromCPU)
}

// baselineIsolation is the isolation of the generator's CPU in the trials: if CPUs are too few to
// isolate it there, the baseline does not isolate it either.
func baselineIsolation(p *plan.Plan) spec.Isolation {
	for _, n := range p.Nodes {
		if n.Name == p.Traffic.From.Node && plan.Partitions(p.Isolation) && !n.Isolated {
			return spec.IsolationAffinity
		}
	}
	return p.Isolation
}

// baselineName is a lab name that differs from the lab it is run for.
func baselineName(lab string) string {
	const suffix = "-baseline"
	return lab[:min(len(lab), 32-len(suffix))] + suffix
}

// measureBaselines measures the baselines that the result lacks.
func (e *Experiment) measureBaselines(ctx context.Context, b *bench, writer *result.Writer, dead *deaths, when result.When) error {
	for _, alone := range e.baselines {
		if hasBaseline(writer, when, alone) {
			continue
		}
		if err := dead.again(ctx, b, alone, 1, func() error { return b.baseline(ctx, writer, when, alone) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) baseline(ctx context.Context, writer *result.Writer, when result.When, alone run) error {
	if err := b.set(ctx, alone); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.watch.Baseline(alone.variables)
	rec, err := b.trial(ctx, alone, 1)
	if err == nil {
		err = b.whole()
	}
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // half a baseline is worthless
	}
	_, err = writer.AddBaseline(when, rec)
	return err
}
