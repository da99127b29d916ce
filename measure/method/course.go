package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/result"
)

// attempts is how often a search runs an invalid trial before it gives up.
const attempts = 3

// course is a running search: it runs the trials, keeps them for the result, and records what was
// odd about them.
type course struct {
	trial         Trial
	settle, drain time.Duration
	search        result.Search
	// oddities are remarks about the trials since the last finding; they go into the reason of the
	// next one.
	oddities []string
	// paces are those found so far, by the name of the throughput.
	paces map[string]pace
}

// newCourse starts a search of a kind.
func newCourse(kind string, trial Trial) *course {
	return &course{trial: trial, paces: map[string]pace{}, search: result.Search{
		Method: kind, Conformant: true,
		Deviations: []string{}, Findings: []result.Finding{}, Trials: []result.SearchTrial{},
	}}
}

// gaveUpError ends a search whose trials stay invalid. It is an outcome, not a failure of the
// program.
type gaveUpError struct{ reason string }

func (e *gaveUpError) Error() string { return e.reason }

// outcome returns the search's result and error, given the error of its last step.
func (c *course) outcome(err error) (result.Search, error) {
	var gaveUp *gaveUpError
	if errors.As(err, &gaveUp) {
		err = nil
	}
	c.search.Conformant = len(c.search.Deviations) == 0
	return c.search, err
}

// run offers a load. It repeats an invalid trial, unless only the generator could not send the
// load: that counts as loss.
func (c *course) run(ctx context.Context, load Load) (Outcome, error) {
	return c.repeat(ctx, load, false)
}

// steady offers a load to measure latency or service, not whether the load is too high. So it also
// repeats a trial in which the generator could not send everything, and uses it only if that
// persists.
func (c *course) steady(ctx context.Context, load Load) (Outcome, error) {
	return c.repeat(ctx, load, true)
}

func (c *course) repeat(ctx context.Context, load Load, steady bool) (Outcome, error) {
	if load.Settle == 0 {
		load.Settle = c.settle
	}
	if load.Drain == 0 {
		load.Drain = c.drain
	}
	if !isRate(load.RatePPS) || load.Duration <= 0 {
		return Outcome{}, &gaveUpError{fmt.Sprintf("a trial at %g packets/s for %s cannot be run", load.RatePPS, load.Duration)}
	}
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
		outcome, err := c.trial(ctx, load)
		if err != nil {
			return Outcome{}, fmt.Errorf("a trial at %.0f packets/s (%s): %w", load.RatePPS, load.Purpose, err)
		}
		unusable := outcome.unusable(steady && attempt < attempts)
		c.keep(load, outcome, unusable)
		if unusable == "" {
			c.note(outcome)
			return outcome, nil
		}
		if attempt == attempts {
			return Outcome{}, &gaveUpError{fmt.Sprintf("%d trials at %.0f packets/s were invalid: %s", attempts, load.RatePPS, unusable)}
		}
	}
}

// unusable says why an outcome cannot be used; empty if it can. With allSent, an invalid outcome
// with unsent packets cannot.
func (o Outcome) unusable(allSent bool) string {
	switch {
	case o.Intended == 0:
		return "they had no packet to send"
	case o.Unsent == 0 || allSent:
		return o.Invalid
	}
	return ""
}

// note records what is odd about a used outcome.
func (c *course) note(o Outcome) {
	if o.Unsent > 0 {
		c.odd("the generator did not send all packets, which counts as loss")
	}
	if o.Received > o.Intended {
		c.odd("more packets arrived than were intended, which counts as no loss")
	}
}

// odd records a remark about the trials, once.
func (c *course) odd(what string) {
	if !slices.Contains(c.oddities, what) {
		c.oddities = append(c.oddities, what)
	}
}

// keep adds a trial to the result.
func (c *course) keep(load Load, o Outcome, unusable string) {
	purpose := load.Purpose
	if unusable != "" {
		purpose += " (not used: " + unusable + ")"
	}
	c.search.Trials = append(c.search.Trials, result.SearchTrial{
		ID: o.ID, Purpose: purpose, RatePPS: load.RatePPS,
		DurationNs: load.Duration.Nanoseconds(), LossRatio: o.LossRatio(),
	})
	c.search.MeasuringNs += o.Elapsed.Nanoseconds()
}

// find adds a finding, with the remarks made on the way to it.
func (c *course) find(f result.Finding) {
	c.search.Findings = append(c.search.Findings, f)
	at := &c.search.Findings[len(c.search.Findings)-1]
	if len(c.oddities) > 0 {
		at.Reason = strings.Join(append(slices.DeleteFunc([]string{at.Reason}, func(s string) bool { return s == "" }), c.oddities...), "; ")
		c.oddities = nil
	}
}

// deviate records a deviation from the standard.
func (c *course) deviate(deviations ...string) {
	c.search.Deviations = append(c.search.Deviations, deviations...)
}

// value returns a finding's figure.
func value(v float64) *float64 { return &v }
