package measure

import "context"

// probe observes one thing beside a trial: what the kernel, the lab or its programs count, or what happens to them. A
// further kind is a file, and a line in probes.
type probe interface {
	// begin is called before the traffic.
	begin(ctx context.Context) error
	// end is called after it, and adds to the observation, which has the traffic's outcome.
	end(ctx context.Context, o *observation) error
}

// abandoner is a probe that leaves something running until its end, which has to be ended where the trial fails.
type abandoner interface {
	abandon(ctx context.Context) error
}

// probes are those of a run, from the outermost: they begin in this order, and end in the reverse one.
func (b *bench) probes(r run) []probe {
	list := []probe{
		&forwarderProbe{b, r.plan}, // after damage, which says what need not answer
		witnessing{b, r.plan, r.stream.Lasts()},
		&outside{bench: b, run: r},
		damageProbe{b},
		&receptionProbe{lab: b.lab},
		b.programCounters(r),
		tuningProbe{b.lab},
		b.noiseOf(r.plan),
		b.pathCounters(r.plan),
	}
	if r.spec.Trace {
		list = append(list, &tracer{bench: b, run: r})
	}
	return append(list, &events{bench: b, plan: r.plan})
}

// difference is a probe that reads the same before and after, and tells what has changed.
type difference[T any] struct {
	read   func(context.Context) (T, error)
	tell   func(o *observation, before, after T)
	before T
}

func (d *difference[T]) begin(ctx context.Context) (err error) {
	d.before, err = d.read(ctx)
	return err
}

func (d *difference[T]) end(ctx context.Context, o *observation) error {
	after, err := d.read(ctx)
	if err == nil {
		d.tell(o, d.before, after)
	}
	return err
}
