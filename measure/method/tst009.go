package method

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// tst009Source is the definition of the search.
const tst009Source = "ETSI GS NFV-TST 009, 12.3.3"

// TST009 is the binary search with loss verification of ETSI GS NFV-TST 009 section 12.3.3: it
// retries a lossy rate before it counts as too high, so that one disturbance does not halve the
// result.
type TST009 struct {
	Range
	// Trial is the duration of each trial.
	Trial time.Duration
	// Retries is how often a lossy rate is retried: the standard's max(r) − 1.
	Retries int
	// RetryLoss is the standard's z: a trial that loses more is not retried.
	RetryLoss float64
	// Settle is the pause between trials, Drain the wait for stragglers; with 0 the trial decides.
	Settle, Drain time.Duration
	// Under measures latency under load afterwards.
	Under UnderLoad
	// Quick says that the user shortened the values deliberately.
	Quick bool
}

// The standard's values, as RFC 9971 reads them in its goal for TST 009: max(r) = 2 trials of 60 s,
// z unlimited.
const (
	tst009Trial   = 60 * time.Second
	tst009Retries = 1
	tst009Quick   = 2 * time.Second
)

// TST009Of returns the options for an experiment file.
func TST009Of(m spec.Method, at Setting) (TST009, error) {
	r, err := rangeOf(m, at)
	o := TST009{
		Range: r, Trial: tst009Trial, Retries: tst009Retries, RetryLoss: math.Inf(1),
		Settle: time.Duration(m.Settle), Under: underLoadOf(m), Quick: m.Quick,
	}
	if m.Quick {
		o.Trial = tst009Quick
	}
	if m.Trial > 0 {
		o.Trial = time.Duration(m.Trial)
	}
	if m.Retries != nil {
		o.Retries = *m.Retries
	}
	if m.LossRatio != nil {
		o.RetryLoss = *m.LossRatio
	}
	return o, errors.Join(err, o.Under.check())
}

// Search finds the highest rate at which one of 1 + Retries trials loses nothing.
func (o TST009) Search(ctx context.Context, trial Trial) (result.Search, error) {
	c := newCourse(string(spec.MethodTST009), trial)
	c.settle, c.drain = o.Settle, o.Drain
	if err := errors.Join(o.check(), o.Under.check()); err != nil {
		return c.search, err
	}
	c.deviate(shorter("trials", o.Trial, tst009Trial, tst009Source, o.Quick)...)
	c.deviate(fewer("repeats of a lossy trial", o.Retries, tst009Retries, tst009Source, o.Quick)...)
	found, err := o.bisect(ctx, c)
	c.find(found)
	if err == nil {
		err = o.Under.measure(ctx, c, found)
	}
	return c.outcome(err)
}

// bisect halves the range until it is narrow enough. The finding is always usable: with an error it
// has the known bounds.
func (o TST009) bisect(ctx context.Context, c *course) (result.Finding, error) {
	found := result.Finding{Name: "throughput", Unit: "packets/s"}
	var low, high float64    // 0 while unknown
	var shown, above Outcome // of the trials at the bounds
	next := o.MaxPPS
	for {
		passed, outcome, err := o.verified(ctx, c, next)
		if err != nil {
			found.Reason = "the search did not end: " + err.Error()
			return bounded(found, low, high), err
		}
		if passed {
			low, shown = next, outcome
		} else {
			high, above = next, outcome
		}
		switch {
		case low == o.MaxPPS:
			found.Reason = fmt.Sprintf("no loss at the highest rate to try, %.0f packets/s", o.MaxPPS)
			found.AtLeast = o.open()
		case high == o.MinPPS:
			found.Reason = fmt.Sprintf("loss even at the lowest rate to try, %.0f packets/s", o.MinPPS)
			return bounded(found, low, high), nil
		case high-max(low, o.MinPPS) > o.Width*high:
			next = (max(low, o.MinPPS) + high) / 2
			continue
		case low == 0: // narrowed down to the lowest rate, not tried yet
			next = o.MinPPS
			continue
		}
		found.Value, found.Trial = value(low), shown.ID
		if high > 0 && above.withoutUnsent().Lost() == 0 {
			found.Reason, found.AtLeast = boundByGenerator(high), true
		}
		if found.AtLeast {
			found.Value = value(shown.sustained(low, o.Trial))
		}
		return bounded(found, low, high), nil
	}
}

// verified reports whether the rate passes: one of its trials loses nothing. It returns that trial, or the
// last of those that lost.
func (o TST009) verified(ctx context.Context, c *course, rate float64) (bool, Outcome, error) {
	purpose := "search"
	for try := 0; ; try++ {
		outcome, err := c.run(ctx, Load{RatePPS: rate, Duration: o.Trial, Purpose: purpose})
		if err != nil {
			return false, Outcome{}, err
		}
		if outcome.Lost() == 0 {
			return true, outcome, nil
		}
		if try >= o.Retries || !outcome.LosesAtMost(o.RetryLoss) {
			return false, outcome, nil
		}
		purpose = "loss verification"
	}
}

// bounded sets the known bounds of a finding.
func bounded(f result.Finding, low, high float64) result.Finding {
	if low > 0 {
		f.Low = value(low)
	}
	if high > 0 {
		f.High = value(high)
	}
	return f
}
