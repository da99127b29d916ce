package measure

import (
	"context"
	"errors"
	"slices"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
)

// trial runs one trial on the lab and engines from set.
func (b *bench) trial(ctx context.Context, r run, repeat int) (result.Record, error) {
	var addresses []string
	var err error
	if r.plan, addresses, err = b.asFound(r); err != nil {
		return result.Record{}, err
	}
	if err := b.open(ctx, r.plan); err != nil {
		return result.Record{}, err
	}
	t := r.plan.Traffic
	if err := b.releaseRecording(); err != nil {
		return result.Record{}, err
	}
	awaited, blocked, err := b.findPath(ctx, r)
	if err != nil {
		return result.Record{}, err
	}
	if blocked != nil {
		return b.refuse(r, repeat, blocked, addresses)
	}
	o := observation{
		stream: r.stream, fromCPU: t.FromCPU, toCPU: t.ToCPU, settings: b.lab.Settings(), isolation: b.isolation, images: b.images, tuning: b.tuning, realTime: b.realTime, shared: r.plan.Shared,
	}
	seen, err := b.observe(ctx, r, repeat, &o)
	if err != nil {
		return result.Record{}, err
	}
	o.path.AwaitedNs = int64(awaited)
	b.proved = b.proved && len(r.plan.Events) == 0
	b.openRecording(o.outcome.Recorded)
	for _, untimed := range b.lab.Untimed() {
		o.faults = append(o.faults, check.Fault{Problem: untimed})
	}
	said, err := b.services.Take(b.lab.Lab)
	if err != nil {
		return result.Record{}, err
	}
	// After all counters of the trial were read, as this sends packets, and before anything is mended. Where something has
	// died, that is the reason.
	if o.outcome.Rx.RxPackets == 0 && !o.outcome.Tx.Interrupted && len(o.faults) == 0 {
		o.path.Ended, _, _ = b.whereEnded(ctx, r)
	}
	for _, fault := range o.happened.died {
		b.died = append(b.died, fault.Problem)
	}
	if o.disturbances, err = b.disturbances(o); err != nil {
		return result.Record{}, err
	}
	rec, err := record(o, r.variables, repeat)
	if err != nil {
		return result.Record{}, err
	}
	rec.Details.Maximum, rec.ServicesLog, rec.Trial.Duet = r.share, said, duetOf(r.spec.Duet, r.plan.Duet)
	rec.Details.Notes = append(rec.Details.Notes, addresses...)
	b.keepRecording(&rec, o.outcome.Recorded, *t)
	keepTrace(&rec, o)
	keepInterruptions(&rec, o)
	if err := keepUndisturbed(&rec, o); err != nil {
		return result.Record{}, err
	}
	decideDuet(&rec, o, seen)
	if b.explain != nil && rec.Causes != nil {
		b.explain(rec.Causes, rec.Details)
	}
	if len(o.happened.faults()) > 0 { // last, as it ends engines, whose memory was read above
		err = b.mend(ctx, o.happened)
	}
	return rec, err
}

// observe sends a trial's traffic, with all probes around it, and with looks at it if it is a duet.
func (b *bench) observe(ctx context.Context, r run, repeat int, o *observation) (*lookout, error) {
	var begun []probe
	abandon := func(err error) error {
		for _, one := range slices.Backward(begun) {
			if left, is := one.(abandoner); is {
				err = errors.Join(err, left.abandon(context.WithoutCancel(ctx)))
			}
		}
		return err
	}
	for _, one := range b.probes(r) {
		if err := one.begin(ctx); err != nil {
			return nil, abandon(err)
		}
		begun = append(begun, one)
	}
	seen := b.lookAt(ctx, r, begun)
	defer b.generator.Look(nil)
	// The seed follows from the repeat, so a Poisson stream is the same for all compared runs, and
	// differs between repeats.
	course := courseOf(len(r.plan.Streams()))
	var err error
	if o.outcome, err = b.generator.Run(ctx, r.stream, uint64(repeat), func(p traffic.Progress) {
		b.watch.Progress(course.with(p))
	}); err != nil {
		return nil, abandon(err)
	}
	for len(begun) > 0 {
		last := begun[len(begun)-1]
		begun = begun[:len(begun)-1]
		if err := last.end(ctx, o); err != nil {
			return nil, abandon(err)
		}
	}
	return seen, nil
}
