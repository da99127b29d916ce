package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// happening is something that can be done to the lab at a time, and ended at another: a link that
// goes down and up, a node that is ended and started. Its kinds are in package lab.
type happening interface {
	// Down begins it and Up ends it; each returns when that was, in nanoseconds of CLOCK_MONOTONIC.
	Down() (atNs int64, err error)
	Up() (atNs int64, err error)
	// Close ends what is left of it. It may be called more than once.
	Close(ctx context.Context) error
}

// events are the probe of what is to happen in one trial.
type events struct {
	bench *bench
	plan  *plan.Plan
	list  []*event
	quit  chan struct{}
	done  sync.WaitGroup
}

// event is one of them. Its goroutine has it from begin to stop.
type event struct {
	happening
	planned spec.Event
	result.Occurrence
}

// begin has everything ready, and in the journal, before the trial, which starts them.
func (e *events) begin(ctx context.Context) error {
	e.quit = make(chan struct{})
	for i, planned := range e.plan.Events {
		one := &event{planned: planned, Occurrence: result.Occurrence{
			What: "down", Link: planned.Link, Node: planned.Node, AtNs: int64(planned.At), LengthNs: int64(planned.Down),
		}}
		var err error
		if planned.Restart {
			one.What, one.happening = "restart", e.bench.lab.PrepareRestart(ctx, planned.Node)
		} else {
			one.happening, err = e.bench.lab.PrepareCut(ctx, planned.Link)
		}
		if err != nil {
			return fmt.Errorf("events.%d: %w", i, errors.Join(err, e.close(context.WithoutCancel(ctx))))
		}
		e.list = append(e.list, one)
	}
	e.bench.generator.Begun(e.start)
	return nil
}

// start starts the clock of the events, at the start that the engines agreed upon.
func (e *events) start(startNs int64) {
	for _, one := range e.list {
		e.done.Add(1)
		go func() {
			defer e.done.Done()
			one.run(startNs, e.quit)
		}()
	}
}

// run does one event, each step as soon after its time as the host lets it.
func (e *event) run(startNs int64, quit <-chan struct{}) {
	const early = "the trial ended before the event was due"
	if !waitUntil(startNs+e.AtNs, quit) {
		e.Problem = early
		return
	}
	at, err := e.Down()
	if err != nil {
		e.Problem = err.Error()
		return
	}
	e.BeganNs = at - startNs
	if !waitUntil(startNs+e.AtNs+e.LengthNs, quit) {
		e.Problem = "the trial ended before the event did"
	}
	if at, err = e.Up(); err != nil {
		e.Problem = err.Error()
		return
	}
	e.EndedNs = at - startNs
}

// waitUntil waits for a time of CLOCK_MONOTONIC; false if quit comes first, or has come when the time
// is over.
func waitUntil(atNs int64, quit <-chan struct{}) bool {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return false // cannot happen: every kernel has the clock
	}
	timer := time.NewTimer(time.Duration(atNs - now.Nano()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-quit:
	}
	// Both may have come, and select takes any of them. What is done now is done after quit.
	select {
	case <-quit:
		return false
	default:
		return true
	}
}

func (e *events) end(ctx context.Context, o *observation) error {
	e.bench.generator.Begun(nil)
	return e.stop(ctx, o)
}

func (e *events) abandon(ctx context.Context) error { return e.end(ctx, &observation{}) }

// stop ends what has not ended, and notes what happened. A trial in which something else happened
// than the file describes has a fault.
func (e *events) stop(ctx context.Context, o *observation) error {
	close(e.quit)
	e.done.Wait()
	for i, one := range e.list {
		if one.BeganNs == 0 && one.Problem == "" {
			one.Problem = "the trial did not begin"
		}
		if one.Problem != "" {
			o.faults = append(o.faults, check.Fault{Problem: fmt.Sprintf("events.%d (%s): %s", i, one.planned, one.Problem)})
		}
		o.events = append(o.events, one.Occurrence)
	}
	return e.close(context.WithoutCancel(ctx))
}

func (e *events) close(ctx context.Context) error {
	var errs []error
	for _, one := range e.list {
		errs = append(errs, one.Close(ctx))
	}
	return errors.Join(errs...)
}
