package analyze

import (
	"context"

	"nines.dev/nines/analyze/clock"
)

// Traffic in both directions: a capture without a filter has packets that pass PRE first, and
// answers that pass POST first. The answers are early in POST, all of them, and their hosts are
// those of packets that are late: with the addresses swapped. A clock that is behind makes the
// packets of both directions early.

// courses are the lags of the packets between each two hosts.
type courses map[endpoints]*course

// course is a direction between two hosts.
type course struct{ early, late lag }

// courses of the packets that match has found.
func (d *Direction) courses() courses {
	all := make(courses)
	of := func(flow uint16) *course {
		hosts := d.pre.flows.endpointsAt(flow).hosts()
		if all[hosts] == nil {
			all[hosts] = new(course)
		}
		return all[hosts]
	}
	late := newApart(d.pre.flows).late
	flows, sent := d.pre.flows.of.all[:d.pre.count], d.pre.timesNs()
	for i, ns := range d.matched.receivedNs.all[:d.pre.count] {
		if ns > leftOut {
			late[d.matched.apart.index(flows[i])].add(ns - sent[i])
		}
	}
	for i := range late {
		c := of(uint16(i))
		c.early.merge(d.matched.apart.early[i])
		c.late.merge(late[i])
		c.late.merge(d.matched.apart.late[i])
	}
	return all
}

// goesBack reports whether most of the packets are early.
func (c *course) goesBack() bool { return c != nil && c.early.packets > c.late.packets }

func (c *course) seen() bool { return c != nil && c.early.packets+c.late.packets > 0 }

// both calls do with each two hosts whose packets are in both captures in both directions.
func (all courses) both(do func(hosts endpoints, c, answers *course)) {
	for hosts, c := range all {
		if swapped := hosts.reversed(); swapped != hosts && c.seen() && all[swapped].seen() {
			do(hosts, c, all[swapped])
		}
	}
}

// twoWay reports whether there are packets that are late with answers that are early.
func (all courses) twoWay() (found bool) {
	all.both(func(_ endpoints, c, answers *course) { found = found || !c.goesBack() && answers.goesBack() })
	return found
}

// back reports whether the packets of a flow pass POST first. Packets that are in one capture only
// go as the answers to them do not.
func (all courses) back(flow endpoints) bool {
	hosts := flow.hosts()
	if c := all[hosts]; c.seen() {
		return c.goesBack()
	}
	answers := all[hosts.reversed()]
	return hosts != hosts.reversed() && answers.seen() && !answers.goesBack()
}

// shifted is the offset of clocks that are further apart than the packets take, so that those of
// both directions are late in POST, or early. Each packet in one direction is then later than each
// in the other; nil otherwise. But all may also pass PRE first, and take longer in one direction.
func (all courses) shifted() *clock.Offset {
	ahead, back := lag{}, lag{}
	all.both(func(_ endpoints, c, answers *course) {
		there, again := c.early, answers.early
		there.merge(c.late)
		again.merge(answers.late)
		if there.leastNs+there.mostNs > again.leastNs+again.mostNs {
			ahead.merge(there)
			back.merge(again)
		}
	})
	if ahead.packets == 0 || ahead.leastNs <= back.mostNs {
		return nil
	}
	return clock.TwoWay(ahead.leastNs, -back.mostNs)
}

// divide finds traffic in both directions, and matches each on its own.
func (a *Analysis) divide(ctx context.Context) error {
	if a.Options.OneWay || !a.pre.flows.answers() {
		return nil
	}
	all := a.courses()
	if !all.twoWay() {
		a.shifted = all.shifted()
		return nil
	}
	a.matched.receivedNs.free()
	a.whole[1].order()
	ahead, answered, err := a.whole[0].split(all.back)
	if err != nil {
		return err
	}
	arrived, answers, err := a.whole[1].split(all.back)
	if err != nil {
		return err
	}
	if a.Direction, err = a.match(ctx, ahead, arrived); err != nil {
		return err
	}
	back, err := a.match(ctx, answers, answered)
	a.Back = &back
	return err
}

// offset is what packets in both directions tell about the clocks.
func (a *Analysis) offset() *clock.Offset {
	if a.Back == nil || a.Clocks.Packets == 0 || a.Back.Clocks.Packets == 0 {
		return nil
	}
	o := clock.TwoWay(a.leastNs(), a.Back.leastNs())
	if a.TickNs > 1 {
		o.BoundNs += a.TickNs
	}
	return o
}
