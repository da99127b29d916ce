package measure

import (
	"context"
	"fmt"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/testbed/host"
	"nines.dev/nines/testbed/plan"
)

// rateOfMaximum is the key of a rate that is a fraction of the measured maximum.
const rateOfMaximum = "traffic.rate_of_maximum"

// mostOf is the run that finds the maximum that another's rate is a fraction of:
// the same at rate 0; nil where the rate is given in packets or bits.
func mostOf(r run, inventory *host.Inventory) (*run, error) {
	if r.spec.Traffic.RateOfMaximum == 0 {
		return nil, nil
	}
	exp, stream := *r.spec, *r.spec.Traffic
	stream.RateOfMaximum, stream.RatePPS, stream.RateBits = 0, 0, 0
	exp.Traffic = &stream
	p, err := plan.Make(&exp, inventory)
	if err != nil {
		return nil, fmt.Errorf("plan the search for the maximum: %w", err)
	}
	variables := make(map[string]any)
	for path, value := range r.variables {
		if path != rateOfMaximum {
			variables[path] = value
		}
	}
	return &run{variables: variables, spec: &exp, plan: p}, nil
}

// maxima are those found so far, by the identity of the experiment at rate 0. The
// repeats of a combination share one, so that they are sent at the same rate.
type maxima map[string]maximum

type maximum struct {
	id          string
	receivedPPS float64
	wrong       string // why it is none
}

// settle gives the run with its rate in packets a second, for which it may have to
// find the maximum first, or says why it is not measured.
func (m maxima) settle(ctx context.Context, b *bench, writer *result.Writer, r run) (run, *result.Skipped, error) {
	switch {
	case r.skip != "":
		return r, &result.Skipped{Variables: r.variables, Reason: r.skip}, nil
	case r.most == nil:
		return r, nil, nil
	}
	key := identity(r.most.spec)
	found, known := m[key]
	if !known {
		var err error
		if found, err = findMaximum(ctx, b, writer, *r.most); err != nil {
			return r, nil, err
		}
		m[key] = found
	}
	if found.wrong != "" {
		return r, &result.Skipped{Variables: r.variables, Reason: fmt.Sprintf(
			"its rate is a part of the maximum, which was not found, since the trial at rate 0 (maxima/%s) is invalid: %s",
			found.id, found.wrong)}, nil
	}
	fraction := r.spec.Traffic.RateOfMaximum
	p, t := *r.plan, *r.plan.Traffic
	t.Stream.RatePPS = fraction * found.receivedPPS
	p.Traffic = &t
	r.plan = &p
	r.share = &result.Share{ID: found.id, ReceivedPPS: found.receivedPPS, Fraction: fraction}
	return r, nil, nil
}

// findMaximum sends as fast as the port takes packets and counts what arrives.
func findMaximum(ctx context.Context, b *bench, writer *result.Writer, most run) (maximum, error) {
	if err := b.set(ctx, most.plan); err != nil {
		return maximum{}, err
	}
	b.watch.Maximum(most.variables, lasts(most))
	rec, err := b.trial(ctx, most, 1)
	if err != nil {
		return maximum{}, fmt.Errorf("search for the maximum: %w", err)
	}
	if ctx.Err() != nil {
		return maximum{}, context.Cause(ctx) // half a trial has no maximum
	}
	trial, err := writer.AddMaximum(rec)
	if err != nil {
		return maximum{}, err
	}
	found := maximum{id: trial.ID, receivedPPS: rec.Details.ReceivedPPS}
	if trial.Verdict == result.Invalid {
		found.wrong = strings.Join(trial.Reasons, "; ")
	}
	return found, nil
}
