package method

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Y1564 is the activation test of ITU-T Y.1564 for one service: the configuration test, which ramps
// up to the committed rate and then adds the excess rate, and the performance test, which holds the
// committed rate for long. Limits judge everything.
type Y1564 struct {
	// CommittedPPS is the rate that the service promises, ExcessPPS the additional rate that it may
	// carry; 0 tests no excess.
	CommittedPPS, ExcessPPS float64
	// Steps are the fractions of the committed rate on the ramp.
	Steps []float64
	// Step is the duration of each step, Performance that of the performance test.
	Step, Performance time.Duration
	// Settle is the pause between trials, Drain the wait for stragglers; with 0 the trial decides.
	Settle, Drain time.Duration
	Limits        Limits
	Quick         bool
}

// The values of Y.1564: steps of 1 to 60 s (section 8.1), and a performance test of at least a
// quarter of an hour (section 8.2).
const (
	y1564Source           = "ITU-T Y.1564"
	y1564Step             = 10 * time.Second
	y1564StepLeast        = time.Second
	y1564Performance      = 15 * time.Minute
	y1564QuickPerformance = 10 * time.Second
)

var y1564Steps = []float64{0.5, 0.75, 0.9, 1}

// Y1564Of returns the options for an experiment file.
func Y1564Of(m spec.Method, _ Setting) (Y1564, error) {
	o := Y1564{
		CommittedPPS: m.CommittedPPS, ExcessPPS: m.ExcessPPS, Steps: y1564Steps,
		Step: y1564Step, Performance: y1564Performance,
		Settle: time.Duration(m.Settle), Limits: limitsOf(m.Limits), Quick: m.Quick,
	}
	if m.Quick {
		o.Step, o.Performance = y1564StepLeast, y1564QuickPerformance
	}
	if m.Trial > 0 {
		o.Step = time.Duration(m.Trial)
	}
	if m.Soak > 0 {
		o.Performance = time.Duration(m.Soak)
	}
	return o, o.check()
}

// Search runs the configuration test and, if it passes, the performance test.
func (o Y1564) Search(ctx context.Context, trial Trial) (result.Search, error) {
	c := newCourse(string(spec.MethodY1564), trial)
	c.settle, c.drain = o.Settle, o.Drain
	if err := o.check(); err != nil {
		return c.search, err
	}
	c.deviate(shorter("configuration test: steps", o.Step, y1564StepLeast, y1564Source, o.Quick)...)
	c.deviate(shorter("a performance test", o.Performance, y1564Performance, y1564Source, o.Quick)...)
	err := o.configuration(ctx, c)
	if err == nil {
		err = o.performance(ctx, c)
	}
	c.search.Passed = passed(c.search.Findings)
	if err != nil {
		failed := false // what was not measured did not pass
		c.search.Passed = &failed
	}
	return c.outcome(err)
}

// configuration ramps up to the committed rate, and on to the excess rate.
func (o Y1564) configuration(ctx context.Context, c *course) error {
	for _, part := range o.Steps {
		conditions := map[string]any{"test": "configuration", "load": part, "rate_pps": part * o.CommittedPPS}
		purpose := fmt.Sprintf("latency at %.4g %% of the committed rate", 100*part)
		if err := o.step(ctx, c, part*o.CommittedPPS, o.Step, purpose, conditions); err != nil {
			return err
		}
	}
	if o.ExcessPPS == 0 {
		return nil
	}
	return o.excess(ctx, c)
}

// step offers a rate and judges it by the limits.
func (o Y1564) step(ctx context.Context, c *course, rate float64, lasts time.Duration, purpose string, conditions map[string]any) error {
	outcome, err := c.steady(ctx, Load{RatePPS: rate, Duration: lasts, Purpose: purpose})
	if err != nil {
		c.find(result.Finding{Name: "loss", Unit: "ratio", Conditions: conditions, Reason: "not measured: " + err.Error()})
		return err
	}
	for _, f := range o.Limits.judge(outcome.counted(), conditions) {
		c.find(f)
	}
	return nil
}

// excess offers the committed and the excess rate together. The service may drop any part of the
// excess, but must deliver at least its committed rate; delay is not judged, because packets of the
// two cannot be distinguished.
func (o Y1564) excess(ctx context.Context, c *course) error {
	rate := o.CommittedPPS + o.ExcessPPS
	found := result.Finding{Name: "received rate", Unit: "packets/s", Conditions: map[string]any{"test": "configuration", "rate_pps": rate, "load": "committed + excess"}}
	outcome, err := c.steady(ctx, Load{RatePPS: rate, Duration: o.Step, Purpose: "committed and excess rate"})
	if err != nil {
		found.Reason = "not measured: " + err.Error()
		c.find(found)
		return err
	}
	received, allowed := float64(outcome.Received)/o.Step.Seconds(), 0.0
	if o.Limits.LossRatio != nil {
		allowed = *o.Limits.LossRatio
	}
	least := o.CommittedPPS * (1 - allowed)
	// A count may differ from the rate by half a packet.
	kept := received+0.5/o.Step.Seconds() >= least
	found.Value, found.Limit, found.Passed, found.Trial = &received, &least, &kept, outcome.ID
	if !kept {
		found.Reason = "less arrived than the committed rate"
	}
	c.find(found)
	return nil
}

// performance holds the committed rate. It is not run if the configuration test failed, as the
// standard requires: the service must be fixed first.
func (o Y1564) performance(ctx context.Context, c *course) error {
	conditions := map[string]any{"test": "performance", "load": 1.0, "rate_pps": o.CommittedPPS, "seconds": o.Performance.Seconds()}
	if soFar := passed(c.search.Findings); soFar != nil && !*soFar {
		c.find(result.Finding{Name: "loss", Unit: "ratio", Conditions: conditions, Reason: "not measured, for the configuration test failed"})
		return nil
	}
	return o.step(ctx, c, o.CommittedPPS, o.Performance, "latency in the performance test", conditions)
}

// check says what is wrong with the options.
func (o Y1564) check() error {
	switch {
	case !isRate(o.CommittedPPS):
		return fmt.Errorf("method: a service has a committed rate above 0, not %g packets/s: set committed_pps", o.CommittedPPS)
	case o.ExcessPPS != 0 && !isRate(o.ExcessPPS):
		return fmt.Errorf("method: an excess rate is above 0, not %g packets/s: change excess_pps", o.ExcessPPS)
	case len(o.Steps) == 0 || slices.ContainsFunc(o.Steps, func(s float64) bool { return !(s > 0 && s <= 1) }):
		return fmt.Errorf("method: the ramp uses fractions of the committed rate above 0, not %v", o.Steps)
	case o.Step <= 0 || o.Performance <= 0:
		return fmt.Errorf("method: the tests of Y.1564 must last, not %s and %s", o.Step, o.Performance)
	}
	return o.Limits.check()
}
