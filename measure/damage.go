package measure

import (
	"context"
	"slices"

	"nines.dev/nines/lab"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/plan"
)

// damage is what has happened to a lab beside a trial, which then did not measure what the file
// describes.
type damage struct {
	// died are the parts that are dead, or not as planned, at this moment.
	died []check.Fault
	// restarts are the nodes that were restarted, stopped, started or unhealthy, or are stopped still.
	restarts []lab.Restarted
}

// damageProbe makes what happens to the lab beside a trial its faults, as whatever died cannot tell the rest.
type damageProbe struct{ bench *bench }

func (damageProbe) begin(context.Context) error { return nil }

func (p damageProbe) end(ctx context.Context, o *observation) (err error) {
	o.happened, err = p.bench.damage(ctx)
	o.faults = slices.Concat(o.happened.faults(), o.faults)
	return err
}

// damage takes what has happened to the lab since the last call, but does not look at half of a change.
func (b *bench) damage(ctx context.Context) (damage, error) {
	b.lab.AwaitChanges(ctx)
	died, err := b.lab.Faults()
	return damage{died, b.lab.TakeRestarts()}, err
}

// faults are its reasons, those of what died first.
func (d damage) faults() []check.Fault {
	all := slices.Clone(d.died)
	for _, r := range d.restarts {
		all = append(all, check.Fault{Of: "node " + r.Node, Problem: "in this trial " + r.String()})
	}
	return all
}

// mend gives the next trial an undamaged lab, after something has happened to this one. What died takes
// the lab with it, and so does what nobody explains. A node that was restarted or stopped does not: its
// network is the lab's, and a new lab would switch it on again, although someone has switched it off.
func (b *bench) mend(ctx context.Context, d damage) error {
	_ = b.stopGenerator() // its engines may answer no more
	b.ended(d.restarts)
	if len(d.died) > 0 || len(d.restarts) == 0 || b.outdated() {
		return b.clear(ctx)
	}
	return nil
}

// ended takes note of what has ended with nodes: perhaps engines of the stream, and what the nodes' setup
// scripts have started.
func (b *bench) ended(restarts []lab.Restarted) {
	for _, r := range restarts {
		if !r.Ended() {
			continue
		}
		_ = b.stopGenerator() // whose error is that an engine was killed
		b.unset = b.unset || slices.ContainsFunc(b.lab.Plan().Nodes, func(n plan.Node) bool {
			return n.Name == r.Node && n.Scripts != nil && n.Scripts.Setup != ""
		})
	}
}

// outdated is true for a lab whose setup scripts have to run again, which they do in another one. It stays
// while a node is off.
func (b *bench) outdated() bool {
	return b.unset && !slices.ContainsFunc(b.lab.Plan().Nodes, func(n plan.Node) bool { return b.lab.Stopped(n.Name) })
}
