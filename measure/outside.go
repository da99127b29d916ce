package measure

import (
	"context"
	"fmt"

	"nines.dev/nines/measure/witness"
	"nines.dev/nines/result"
)

// outside has the kernel tell what interrupts those on the packets' way that cannot tell it themselves: threads that sleep,
// programs that are not nines' own, and CPUs that receive packets in softirqs.
type outside struct {
	bench *bench
	run   run
	watch *witness.Watch // nil where the kernel cannot
	// of are the witnesses, by their names.
	of     map[string]result.Witness
	unseen []string
}

// begin begins to watch. It is no error if the kernel cannot: what is then unseen is said.
func (o *outside) begin(context.Context) error {
	o.of = map[string]result.Witness{}
	if endsApart(o.run.plan) {
		return nil // the clock of the trial is not the kernel's
	}
	var err error
	// Where all threads spin, they notice late softirqs themselves, but for those that ksoftirqd handles.
	options := witness.Options{Room: witness.Room(o.run.stream.Lasts()), Softirqs: o.run.sleeps()}
	if o.watch, err = witness.Start(options); err != nil {
		o.unseen = append(o.unseen, fmt.Sprintf("threads that sleep or are not of nines, and softirqs: %v", err))
		return nil
	}
	o.addCPUs()
	o.addForwarders()
	o.addNodes()
	o.addPrograms()
	o.addPollers()
	o.bench.generator.Watch(o.started)
	return nil
}

// missed says what is not watched, and why.
func (o *outside) missed(what string, err error) {
	if err != nil {
		o.unseen = append(o.unseen, fmt.Sprintf("%s: %v", what, err))
	}
}

func (o *outside) thread(w result.Witness, tid int, children bool) {
	w.By = result.ByScheduler
	o.of[w.Thread] = w
	o.missed(w.Thread, o.watch.Thread(w.Thread, tid, children))
}

// end ends the watch, and adds what it has listed.
func (o *outside) end(ctx context.Context, to *observation) error {
	to.outside = o.told()
	return o.abandon(ctx)
}

func (o *outside) abandon(context.Context) error {
	o.bench.generator.Watch(nil)
	if o.watch != nil {
		o.watch.Close()
	}
	return nil
}

// told is everything that was listed, by witness.
func (o *outside) told() witnessedOutside {
	if o.watch != nil {
		o.watch.Stop()
	}
	return o.toldSoFar()
}

// toldSoFar is what has been listed; the listing goes on.
func (o *outside) toldSoFar() witnessedOutside {
	all := witnessedOutside{unseen: o.unseen}
	if o.watch == nil {
		return all
	}
	for _, told := range o.watch.Told() {
		w := o.of[told.Witness]
		w.ThresholdNs, w.UnlistedNs, w.Overflow = told.ThresholdNs, told.UnlistedNs, told.Overflow
		all.witnesses = append(all.witnesses, w)
	}
	for _, row := range o.watch.Rows() {
		w := o.of[row.Witness]
		all.rows = append(all.rows, result.Interruption{Thread: w.Thread, Node: w.Node, CPU: int32(row.CPU), Kind: row.Kind, BeginNs: row.BeginNs, LengthNs: row.LengthNs})
	}
	return all
}

// witnessedOutside is what the kernel told. The begin of its rows is of CLOCK_MONOTONIC.
type witnessedOutside struct {
	witnesses []result.Witness
	rows      []result.Interruption
	unseen    []string
}
