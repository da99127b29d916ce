package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
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
