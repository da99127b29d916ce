package analyze

import (
	"context"

	"nines.dev/nines/analyze/clock"
	"nines.dev/nines/result"
)

// Direction is the evaluation of the packets that pass the two points in the same order.
type Direction struct {
	// From is the capture that they pass first, To the other.
	From, To string
	Counts   Counts
	// Segmented are the flows whose packets differ by segmentation offload.
	Segmented []Segmented
	Clocks    clock.Estimate
	*Evaluation

	// followed is true if the movement of the clocks was taken off.
	followed bool

	pre, post *side // the packets of this direction in From and To
	matched   *matched
	// unicastForeign are those of Counts.PreForeign that may be lost altogether.
	unicastForeign uint64
	fromNs         int64 // earlier arrivals do not count
	trimNs         int64
}

// match finds the pairs of packets that pass pre first.
func (a *Analysis) match(ctx context.Context, pre, post *side) (Direction, error) {
	d := Direction{From: pre.path, To: post.path, pre: pre, post: post, trimNs: a.Options.Trim.Nanoseconds()}
	var err error
	d.matched, err = match(ctx, pre, post, matching{a.Options.Key != Published, a.Options.Window.Nanoseconds(), a.TickNs}, func(done, all int64) { a.Options.Progress("matching", done, all) })
	if err != nil {
		return d, err
	}
	d.Counts = d.matched.counts
	return d, nil
}

// account decides about the packets of either capture that the other does not have. The spans are
// those of From and To.
func (d *Direction) account(from, to span) {
	d.leaveOutForeign()
	d.leaveOutSegmented()
	d.leaveOutside(from, to)
	d.matched.unknown = nil
}

// evaluate computes everything about the pairs. Arrivals before fromNs do not count. Follow takes off what the clocks
// move against each other.
func (d *Direction) evaluate(ctx context.Context, fromNs int64, follow bool) (err error) {
	d.pre.freeEntries()
	d.post.freeEntries()
	d.post.sortTimes()
	d.fromNs = fromNs
	if err := d.estimateClocks(); err != nil {
		return err
	}
	if follow && d.Clocks.Moves() {
		d.followClock()
	}
	if d.Evaluation, err = evaluate(ctx, d.pairs(), d.post.timesNs(), d.trimNs); err != nil {
		return err
	}
	for i := range d.Worst {
		w := &d.Worst[i]
		w.Number = d.pre.number(w.Packet)
		w.ID = uint32(w.Number)
		w.Flow = d.pre.flows.endpointsAt(d.pre.flows.of.all[w.Packet]).String()
	}
	return nil
}

// followClock takes the movement of the clocks off the arrivals. None is before its packet was sent.
func (d *Direction) followClock() {
	d.followed = true
	sent, received := d.pre.timesNs(), d.matched.receivedNs.all[:d.pre.count]
	for i, ns := range received {
		if ns > leftOut {
			received[i] = max(ns-d.Clocks.Moved(sent[i]), sent[i])
		}
	}
	for i := range d.matched.again {
		r := &d.matched.again[i]
		at := sent[r.packet]
		r.ns = max(r.ns-d.Clocks.Moved(at), at)
	}
}

// estimateClocks estimates how the two clocks relate.
func (d *Direction) estimateClocks() error {
	var latency column[int64]
	defer latency.free()
	if err := latency.reserve(d.pre.count); err != nil {
		return err
	}
	sent, list := d.pre.timesNs(), latency.all[:d.pre.count]
	for i, ns := range d.matched.receivedNs.all[:d.pre.count] {
		list[i] = clock.Lost
		if ns > leftOut {
			list[i] = ns - sent[i]
		}
	}
	d.Clocks = clock.Of(sent, list)
	return nil
}

func (d *Direction) pairs() pairs {
	return pairs{d.pre.timesNs(), d.matched.receivedNs.all[:d.pre.count], d.matched.again, d.fromNs}
}

// leastNs is the smallest lag of all packets in both captures, also of those that are early.
func (d *Direction) leastNs() int64 {
	all := together(d.matched.apart.early)
	if d.Clocks.Packets > 0 {
		all.merge(lag{packets: d.Clocks.Packets, leastNs: d.Clocks.LeastNs, mostNs: d.Clocks.LeastNs})
	}
	return all.leastNs
}

// lossRatio covers packets with unique keys. It is the least that is possible.
func (d *Direction) lossRatio() float64 {
	known := uint64(d.pre.count) - d.Counts.PreAmbiguous - d.Counts.PreUnkeyed - d.Counts.PreEarly - d.Counts.PreForeign - d.Counts.PreSegmented - d.Counts.Outside - d.Counts.PreCopies - d.matched.untimed
	if known == 0 {
		return 0
	}
	return float64(d.Counts.Lost) / float64(known)
}

// latency is that of the first arrivals. A trim may leave none of them.
func (d *Direction) latency() result.Percentiles {
	first := d.first
	return result.MakePercentiles(first.Count, first.Min, first.Max, first.Sum/float64(max(first.Count, 1)), named(d.firstPercentiles))
}

func (d *Direction) allArrivals() *result.Percentiles {
	if d.Evaluation.Pairs == d.first.Count {
		return nil
	}
	all := result.MakePercentiles(d.Evaluation.Pairs, d.Percentiles[0], d.Worst[0].LatencyNs, d.sumNs/float64(d.Evaluation.Pairs), named(d.Percentiles))
	return &all
}

// median is that of the first arrivals, by which the clocks are judged too; 0 for fewer than two.
func (d *Direction) median() int64 {
	if median := d.latency().P50; median != nil {
		return *median
	}
	return 0
}

func (d *Direction) free() {
	if d.matched != nil {
		d.matched.receivedNs.free()
	}
	for _, s := range []*side{d.pre, d.post} {
		if s != nil {
			s.free()
		}
	}
}
