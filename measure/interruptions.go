package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// interrupted is the list of a thread on the packets' way. The begin of its interruptions counts from
// fromNs of CLOCK_MONOTONIC.
type interrupted struct {
	thread, node string
	cpu          int
	fromNs       int64
	of           client.Interruptions
}

// witnessed is what the threads on the packets' way have told of their interruptions, but for those of the ends, whose
// trials have them.
type witnessed struct {
	from, to string // the nodes of the ends
	threads  []interrupted
	unseen   []string
}

// witnessing has the engines and switches on the packets' way list their interruptions.
type witnessing struct {
	bench *bench
	plan  *plan.Plan
	lasts time.Duration // a trial
}

// begin has all engines but those of the ends list what interrupts them in a trial.
func (w witnessing) begin(ctx context.Context) error {
	room := client.InterruptionsRoom(w.lasts)
	err := w.bench.eachForwarder(w.plan, func(_ plan.Node, engine *client.Client) error { return engine.ListInterruptions(room) })
	for _, link := range w.plan.Links {
		err = errors.Join(err, w.ask(ctx, link, func(c *client.Client) error { return c.ListInterruptions(room) }))
	}
	return err
}

// ask does something with the engine of a link's switch, if it has one. A dead one is no error here: the lab's faults
// report it.
func (w witnessing) ask(ctx context.Context, link plan.Link, do func(*client.Client) error) error {
	if !link.HasEngine() {
		return nil
	}
	socket, err := w.bench.lab.SwitchSocket(link.Name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forwarderPatience)
	defer cancel()
	c, err := client.Dial(ctx, socket)
	if err != nil {
		return nil
	}
	if err = do(c); errors.Is(err, client.ErrGone) {
		err = nil
	}
	return errors.Join(err, c.Close())
}

// end reads what they have listed. An engine that died cannot answer, which makes the trial invalid.
func (w witnessing) end(ctx context.Context, o *observation) (err error) {
	if o.witnessed, err = w.read(ctx); len(o.faults) > 0 {
		return nil
	}
	return err
}

// read is everything that they have listed since. An engine with another clock than the ends, in a virtual machine or on
// another machine, is unseen: it cannot tell when in the trial it was interrupted.
func (w witnessing) read(ctx context.Context) (witnessed, error) {
	all := witnessed{from: w.plan.Traffic.From.Node, to: w.plan.Traffic.To.Node, unseen: unwitnessed(w.plan)}
	ends := endsApart(w.plan)
	err := w.bench.eachForwarder(w.plan, func(node plan.Node, engine *client.Client) error {
		if node.Apart() || ends {
			return nil
		}
		threads, err := engine.Interruptions()
		if isNew(err) {
			all.unseen = append(all.unseen, "node "+node.Name+": its engine was restarted in the trial")
			return nil
		}
		for _, t := range threads {
			all.threads = append(all.threads, interrupted{"forward " + node.Name, node.Name, t.CPU, t.BeginNs, t.Interruptions})
		}
		return err
	})
	for _, link := range w.plan.Links {
		if ends {
			break
		}
		err = errors.Join(err, w.ask(ctx, link, func(c *client.Client) error {
			threads, err := c.Interruptions()
			if isNew(err) {
				all.unseen = append(all.unseen, "link "+link.Name+": its switch was restarted in the trial")
				return nil
			}
			for i, t := range threads {
				all.threads = append(all.threads, interrupted{fmt.Sprintf("switch %s %d", link.Name, i+1), "", t.CPU, t.BeginNs, t.Interruptions})
			}
			return err
		}))
	}
	return all, err
}

// isNew is true for the answer of an engine that was not there when all were asked to list.
func isNew(err error) bool {
	refused := new(client.Error)
	return errors.As(err, &refused) && refused.Errno == "ENODATA"
}

// endsApart is true where the clock of the trial is not this host's.
func endsApart(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Nodes, func(n plan.Node) bool {
		return n.Apart() && (n.Name == p.Traffic.From.Node || n.Name == p.Traffic.To.Node)
	})
}

// unwitnessed are the parts of the packets' way whose interruptions neither an engine nor the kernel can place in the trial.
func unwitnessed(p *plan.Plan) []string {
	var list []string
	for _, node := range p.Nodes {
		switch {
		case node.App == nil || node.Name == p.Traffic.From.Node || node.Name == p.Traffic.To.Node:
		case node.Apart():
			list = append(list, "node "+node.Name+": what its own kernel did is not seen from this host")
		case endsApart(p):
			list = append(list, "node "+node.Name+": its clock is not that of the ends")
		}
	}
	for _, link := range p.Links {
		if link.Switch != nil && endsApart(p) {
			list = append(list, "link "+link.Name+": its clock is not that of the ends")
		}
	}
	return list
}

// keepInterruptions adds what the witnesses of a trial have told.
func keepInterruptions(rec *result.Record, o observation) {
	tx, rx := o.outcome.Tx, o.outcome.Rx
	threads := []interrupted{{"loop", o.witnessed.from, o.fromCPU, tx.MeasuredStartNs, tx.Interruptions}}
	if !o.outcome.Loop {
		// Both count from their measured start, which is the same moment by two clocks.
		threads = []interrupted{
			{"generate", o.witnessed.from, o.fromCPU, tx.MeasuredStartNs, tx.Interruptions},
			{"sink", o.witnessed.to, o.toCPU, tx.MeasuredStartNs, rx.Interruptions},
		}
	}
	all := result.Interruptions{Unseen: append(o.outside.unseen, o.witnessed.unseen...)}
	end := max(tx.EndNs-tx.MeasuredStartNs, rx.EndNs-rx.MeasuredStartNs)
	for _, t := range slices.Concat(threads, o.witnessed.threads) {
		rows := t.rows(tx.MeasuredStartNs, end)
		rec.Interruptions = append(rec.Interruptions, rows...)
		all.Witnesses = append(all.Witnesses, t.witness(rows))
		rec.Details.Turns = append(rec.Details.Turns, t.turns()...)
	}
	rows := o.outside.during(tx.MeasuredStartNs, end)
	for _, w := range o.outside.witnesses {
		for _, row := range rows {
			if row.Thread == w.Thread {
				w.Count, w.TotalNs = w.Count+1, w.TotalNs+row.LengthNs
			}
		}
		all.Witnesses = append(all.Witnesses, w)
	}
	rec.Interruptions = append(rec.Interruptions, rows...)
	slices.SortStableFunc(rec.Interruptions, func(a, b result.Interruption) int { return cmp.Compare(a.BeginNs, b.BeginNs) })
	rec.Trial.Interruptions = &all
}

// during are the rows that met the trial, from when its first measured packet was due until its end.
func (o witnessedOutside) during(measuredStartNs, endNs int64) []result.Interruption {
	var rows []result.Interruption
	for _, row := range o.rows {
		row.BeginNs -= measuredStartNs
		if row.BeginNs+row.LengthNs > 0 && row.BeginNs < endNs {
			rows = append(rows, row)
		}
	}
	return rows
}

// rows are the interruptions that met the trial, as in during.
func (t interrupted) rows(measuredStartNs, endNs int64) []result.Interruption {
	names := map[int]string{}
	for _, kind := range t.of.Kinds {
		names[kind.Kind] = kind.Name
	}
	var rows []result.Interruption
	for _, i := range t.of.List {
		begin := t.fromNs + i.BeginNs - measuredStartNs
		if begin+i.LengthNs > 0 && begin < endNs {
			rows = append(rows, result.Interruption{Thread: t.thread, Node: t.node, CPU: int32(t.cpu), Kind: names[i.Kind], BeginNs: begin, LengthNs: i.LengthNs})
		}
	}
	return rows
}

func (t interrupted) witness(rows []result.Interruption) result.Witness {
	w := result.Witness{Thread: t.thread, Node: t.node, CPU: t.cpu, By: result.ByLoop, Count: uint64(len(rows)), ThresholdNs: threshold(t.of.Kinds), Overflow: t.of.Overflow}
	for _, row := range rows {
		w.TotalNs += row.LengthNs
	}
	for _, kind := range t.of.Kinds {
		w.UnlistedNs += kind.UnlistedNs
	}
	return w
}

// thresholdShare is the share of a loop's time in which it can tell what is longer than its witness's threshold. The
// largest turns, which may last longer, are those that make up for an interruption before them.
const thresholdShare = 0.95

// threshold is the longest of the kinds of turns that take nearly all of the loop's time.
func threshold(kinds []client.TurnKind) (ns int64) {
	known := slices.DeleteFunc(slices.Clone(kinds), func(k client.TurnKind) bool { return k.ThresholdNs == nil })
	slices.SortFunc(known, func(a, b client.TurnKind) int { return cmp.Compare(*a.ThresholdNs, *b.ThresholdNs) })
	var spent, below int64
	for _, kind := range known {
		spent += kind.SpentNs
	}
	for _, kind := range known {
		if float64(below) >= thresholdShare*float64(spent) {
			break
		}
		below, ns = below+kind.SpentNs, *kind.ThresholdNs
	}
	return ns
}

func (t interrupted) turns() (list []result.Turns) {
	for _, kind := range t.of.Kinds {
		list = append(list, result.Turns{
			Thread: t.thread, Kind: kind.Name, UsualNs: kind.UsualNs, ThresholdNs: kind.ThresholdNs,
			SpentNs: kind.SpentNs, Unlisted: kind.Unlisted, UnlistedNs: kind.UnlistedNs,
			UnlistedLengths: unlistedLengths(kind),
		})
	}
	return list
}

func unlistedLengths(kind client.TurnKind) (list []result.UnlistedLength) {
	for _, l := range kind.UnlistedLengths {
		list = append(list, result.UnlistedLength(l))
	}
	return list
}
