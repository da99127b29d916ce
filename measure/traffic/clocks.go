package traffic

import (
	"cmp"
	"fmt"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
)

// clocks are those of a sender's machine and of a receiver's, read at about the same time. Someone keeps
// the CLOCK_REALTIME of both in step with the rest of the world, and so with one another.
type clocks struct {
	tx, rx client.Clock
	// errorOf is how wrong each of them may be, as the file says; 0 for what their kernels were told.
	errorOf time.Duration
}

// offsetNs is what the receiver's CLOCK_MONOTONIC is ahead of the sender's.
func (c clocks) offsetNs() int64 {
	return (c.tx.RealtimeNs - c.tx.Ns) - (c.rx.RealtimeNs - c.rx.Ns)
}

// sender is the sender's counter in the receiver's CLOCK_MONOTONIC.
func (c clocks) sender() client.Scale {
	s := c.tx.Scale
	s.Ns += c.offsetNs()
	return s
}

// errorNs is how wrong the offset may be: what the file says of the clocks, or both kernels were told, and what
// the readings leave open.
func (c clocks) errorNs() int64 {
	sum := int64(0)
	for _, one := range []client.Clock{c.tx, c.rx} {
		told := one.MaxErrorNs
		if c.errorOf > 0 {
			told = c.errorOf.Nanoseconds()
		}
		sum += told + one.BracketNs
	}
	return sum
}

// untold says of which clock nobody told an error, which is then missing in that of each latency. linuxptp's
// programs tell the kernel 0 with each correction.
func (c clocks) untold(from, to string) string {
	switch {
	case c.errorOf > 0:
		return ""
	case c.tx.MaxErrorNs == 0:
		return from
	case c.rx.MaxErrorNs == 0:
		return to
	}
	return ""
}

// Synchrony is what became of two clocks in a trial.
type Synchrony struct {
	// ErrorNs is how wrong each latency may be; it has DriftNs, by which the clocks moved apart.
	ErrorNs, DriftNs int64
	// Lost says that a clock was not kept in step at the end; empty if both were.
	Lost string
	// Untold is the node of whose clock no error is known; empty if there is none.
	Untold string
}

// until is what became of the clocks from their readings before a trial to those after it. Between them
// the receiver goes by the first.
func (c clocks) until(end clocks, from, to string) Synchrony {
	drift := c.sender().At(end.tx.Ticks) - end.sender().Ns
	// The receiver's own counter is compared with its clock, too: its trial tells (tsc.max_error_ns).
	s := Synchrony{DriftNs: max(drift, -drift)}
	s.ErrorNs = max(c.errorNs(), end.errorNs()) + s.DriftNs
	s.Lost, s.Untold = end.unsynchronised(from, to), cmp.Or(c.untold(from, to), end.untold(from, to))
	return s
}

// unsynchronised says which of the clocks nobody keeps; empty if both are kept.
func (c clocks) unsynchronised(from, to string) string {
	for _, one := range []struct {
		node  string
		clock client.Clock
	}{{from, c.tx}, {to, c.rx}} {
		if !one.clock.Synchronised {
			return fmt.Sprintf("the clock of node %s is not synchronised: its kernel says so (STA_UNSYNC of adjtimex)", one.node)
		}
	}
	return ""
}

// readClocks reads both machines' clocks; asked is when the sender's was asked for, by this host's
// CLOCK_MONOTONIC.
func (g *Generator) readClocks() (c clocks, asked int64, err error) {
	c.errorOf = g.clockError
	if asked, err = monotonicNs(); err != nil {
		return c, 0, err
	}
	for _, one := range []struct {
		of *process
		to *client.Clock
	}{{g.tx, &c.tx}, {g.rx, &c.rx}} {
		if *one.to, err = one.of.Clock(); err != nil {
			return c, asked, g.failed(one.of, err)
		}
	}
	return c, asked, nil
}

// keptClocks reads both machines' clocks before a trial, and refuses those that nobody keeps.
func (g *Generator) keptClocks() (c clocks, asked int64, err error) {
	if c, asked, err = g.readClocks(); err != nil {
		return c, asked, err
	}
	if why := c.unsynchronised(g.traffic.From.Node, g.traffic.To.Node); why != "" {
		return c, asked, exit.Lacksf("%s; have PTP keep it (ptp4l on its network card, and phc2sys -a -r from there), or NTP, or measure the round trip", why)
	}
	return c, asked, nil
}

// note says it to people.
func (s Synchrony) note() string {
	return fmt.Sprintf("the sender and the receiver have a clock each, so latencies are right within %v (the errors of CLOCK_REALTIME on both, and %v by which the clocks moved apart)",
		time.Duration(s.ErrorNs), time.Duration(s.DriftNs))
}
