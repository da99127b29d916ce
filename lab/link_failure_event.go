package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/terminal"
)

// Cut is a link that is prepared to go down and up again: the journal knows about it, so that nothing
// but the cut itself takes time when it is due. Its methods are called one at a time.
type Cut struct {
	lab  *Lab
	link plan.Link
	// steps are the journal's.
	steps []int
	// switch_ is the link's switch while the link is down: it takes one client at a time.
	switch_ *client.Client
	// places are set where devices of the kernel are cut; elsewhere the switch drops what it receives.
	places []cutPlace
	// cutter is set if the devices are the ends in the nodes, which then drop what they receive. Others are
	// set down, which their peers in the nodes see as a carrier that is lost.
	cutter *link.Cutter
}

// cutPlace is the devices of a cut in one network namespace.
type cutPlace struct {
	holder  link.Holder
	devices []string
}

// cutPatience bounds a conversation with a switch.
const cutPatience = 5 * time.Second

// PrepareCut journals that a link may be down.
func (l *Lab) PrepareCut(ctx context.Context, name string) (_ *Cut, err error) {
	planned := l.Index().Link(name)
	if planned == nil {
		return nil, exit.Wrongf("lab %q has no link %q; %s", l.Name(), name, terminal.Choose(name, "its links:", linkNames(l.Plan())))
	}
	d := planned.Kind.Descriptor()
	if !d.CanBeCut() {
		return nil, exit.Wrongf("link %q: a %s link cannot be taken down", name, planned.Kind)
	}
	guest := slices.IndexFunc(planned.Endpoints, func(e plan.Endpoint) bool { return e.Guest })
	if d.CutAtEnds() && guest >= 0 {
		return nil, exit.Wrongf("link %q: a %s link to a virtual machine cannot be taken down, as nines cannot reach %s in it", name, planned.Kind, planned.Endpoints[guest].Name())
	}
	c := &Cut{lab: l, link: *planned}
	defer func() {
		if err != nil {
			err = fmt.Errorf("link %q: prepare to take it down: %w", name, errors.Join(err, c.Close(context.WithoutCancel(ctx))))
		}
	}()
	if d.CutAtEnds() {
		if c.cutter, err = link.NewCutter(); err != nil {
			return nil, err
		}
	}
	return c, l.withJournal(func(j *journal.Journal) error { return c.note(j) })
}

// withJournal lends the lab's journal, and holds the lab for as long.
func (l *Lab) withJournal(f func(*journal.Journal) error) error {
	if l.held != nil {
		return f(l.held.journal)
	}
	h, err := hold(l.Name())
	if err != nil {
		return state.Explain(err)
	}
	if h.journal == nil {
		return errors.Join(state.NotFound(l.Name()), h.free())
	}
	return errors.Join(f(h.journal), h.free())
}

// note writes a step for each end of the link.
func (c *Cut) note(j *journal.Journal) error {
	for _, e := range c.link.Endpoints {
		step := journal.Step{Kind: link.KindCut, Link: c.link.Name, Node: e.Node}
		learnt := journal.Learnt{}
		switch {
		case c.link.HasEngine():
			step.Name, step.Path = e.Name(), link.SwitchSocket(c.lab.State().Dir, c.link.Name)
		case c.cutter != nil:
			holder := link.HolderOf(c.lab.Running(e.Node))
			index, err := link.IndexOf(holder, e.Interface)
			if err != nil {
				return fmt.Errorf("node %s: %w", e.Node, err)
			}
			step.Name, step.Value, step.Holder, learnt.Index = e.Interface, link.CutProgram, holder.Step, index
			c.place(holder, e.Interface)
		default:
			made, holder, err := maker(j, c.link.Name, e.FabricDevice)
			if err != nil {
				return err
			}
			step.Name, step.Holder, learnt.Index = e.FabricDevice, made.Holder, made.index()
			c.place(holder, e.FabricDevice)
		}
		id, err := j.Begin(step)
		if err != nil {
			return err
		}
		c.steps = append(c.steps, id)
		if err := j.Done(id, learnt); err != nil {
			return err
		}
	}
	return nil
}

// place adds a device that is cut. Those of a tunnel, and those in nodes, are in a namespace each.
func (c *Cut) place(holder link.Holder, device string) {
	for i := range c.places {
		if c.places[i].holder == holder {
			c.places[i].devices = append(c.places[i].devices, device)
			return
		}
	}
	c.places = append(c.places, cutPlace{holder, []string{device}})
}

// madeDevice is the journal's step that made a device.
type madeDevice journal.Entry

func (m madeDevice) index() int {
	if m.Learnt == nil {
		return 0
	}
	return m.Learnt.Index
}

// maker finds the step that made a device of a link, and the process in whose namespace it is.
func maker(j *journal.Journal, linkName, device string) (madeDevice, link.Holder, error) {
	entries := j.Entries()
	for _, made := range entries {
		if made.Link != linkName || made.Name != device || made.Holder == 0 {
			continue
		}
		for _, starter := range entries {
			if starter.ID != made.Holder || starter.Learnt == nil {
				continue
			}
			if id := process.Of(starter); id.Alive() {
				return madeDevice(made), link.Holder{PID: id.PID, Step: starter.ID}, nil
			}
		}
	}
	return madeDevice{}, link.Holder{}, fmt.Errorf("the journal has no device %s of the link in a namespace that still exists", device)
}

// Down takes the link down, and returns when that was done, in nanoseconds of CLOCK_MONOTONIC.
func (c *Cut) Down() (atNs int64, err error) {
	defer fault.Point("link down", string(link.KindCut))
	return c.set(true)
}

// Up lets the link pass packets again, and returns when that was done.
func (c *Cut) Up() (atNs int64, err error) {
	defer fault.Point("link up", string(link.KindCut))
	return c.set(false)
}

func (c *Cut) set(down bool) (atNs int64, err error) {
	if !c.link.HasEngine() {
		for _, p := range c.places {
			if err := c.setPlace(p, down); err != nil {
				return 0, fmt.Errorf("link %q: %w", c.link.Name, err)
			}
		}
		return monotonicNs()
	}
	// A switch that is stuck must not hold up the trial.
	ctx, cancel := context.WithTimeout(context.Background(), cutPatience)
	defer cancel()
	if c.switch_ == nil {
		if c.switch_, err = client.Dial(ctx, link.SwitchSocket(c.lab.State().Dir, c.link.Name)); err != nil {
			return 0, fmt.Errorf("link %q: its switch: %w", c.link.Name, err)
		}
	}
	engine := c.switch_
	defer context.AfterFunc(ctx, func() { _ = engine.Close() })()
	for _, e := range c.link.Endpoints {
		if atNs, err = engine.Cut(e.Name(), down); err != nil {
			return 0, fmt.Errorf("link %q: its switch: %w", c.link.Name, err)
		}
	}
	if !down {
		c.hangUp()
	}
	return atNs, nil
}

func (c *Cut) setPlace(p cutPlace, down bool) error {
	if c.cutter != nil {
		return c.cutter.Set(p.holder, p.devices, down)
	}
	return link.SetDevices(p.holder, p.devices, !down)
}

// hangUp lets others talk to the switch.
func (c *Cut) hangUp() {
	if c.switch_ != nil {
		_ = c.switch_.Close()
		c.switch_ = nil
	}
}

func monotonicNs() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("read CLOCK_MONOTONIC: %w", err)
	}
	return t.Nano(), nil
}

// Close lets the link pass packets, if it is down, and ends the cut. It may be called more than
// once.
func (c *Cut) Close(ctx context.Context) error {
	c.hangUp() // the undo has a connection of its own
	if c.cutter != nil {
		c.cutter.Close()
		c.cutter, c.places = nil, nil
	}
	mine := map[int]bool{}
	for _, id := range c.steps {
		mine[id] = true
	}
	if len(mine) == 0 {
		return nil
	}
	c.steps = nil
	return c.lab.withJournal(func(j *journal.Journal) error {
		return j.Undo(ctx, nil, func(e journal.Entry) bool { return mine[e.ID] })
	})
}

func linkNames(p *plan.Plan) []string {
	var names []string
	for _, l := range p.Links {
		names = append(names, l.Name)
	}
	return names
}
