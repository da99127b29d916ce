package measure

import (
	"context"
	"fmt"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// rateOfMaximum is the key for a rate given as a fraction of the measured maximum.
const rateOfMaximum = "traffic.rate_of_maximum"

// maxRateRun returns the run at rate 0 that finds the maximum for another run's rate fraction or
// for the upper end of a search; nil if the rate is given.
func maxRateRun(r run, inventory *host.Inventory) (*run, error) {
	seeks := r.spec.Method.SeeksRate() && r.spec.Method.MaxRatePPS == 0
	if r.spec.Traffic.RateOfMaximum == 0 && !seeks {
		return nil, nil
	}
	exp := r.spec.AtMost()
	if seeks {
		exp.Traffic.Duration = ceilingTime
		if exp.Method.Quick {
			exp.Traffic.Duration = ceilingQuick
		}
		exp.Method = nil
	}
	p, err := plan.Make(exp, inventory)
	if err != nil {
		return nil, fmt.Errorf("plan the search for the maximum: %w", err)
	}
	variables := make(map[string]any)
	for path, value := range r.variables {
		if path != rateOfMaximum {
			variables[path] = value
		}
	}
	stream := *exp.Traffic
	stream.Wait = p.Traffic.Stream.Wait
	return &run{variables: variables, spec: exp, stream: stream, plan: p}, nil
}

// maxima are those found so far, by the identity of the experiment at rate 0. The repeats of a
// combination share one, so they all send at the same rate.
type maxima map[string]maximum

type maximum struct {
	id          string
	receivedPPS float64
	offeredPPS  float64
	wrong       string        // why there is none
	refused     *result.Trial // because nothing passes; nil otherwise
}

// settle returns the run with its rate in packets a second, for which it may have to find the
// maximum first, or the reason to skip the run.
func (m maxima) settle(ctx context.Context, b *bench, writer *result.Writer, r run) (run, *result.Skipped, error) {
	switch {
	case r.skip != "":
		return r, &result.Skipped{Variables: r.variables, Reason: r.skip}, nil
	case r.most == nil:
		return r, nil, nil
	}
	found, err := m.find(ctx, b, writer, *r.most)
	if err != nil {
		return r, nil, err
	}
	if found.refused != nil {
		b.refuses(*found.refused)
	}
	if found.wrong != "" {
		return r, &result.Skipped{Variables: r.variables, Reason: fmt.Sprintf(
			"its rate is a fraction of the maximum, which was not found, since the trials at rate 0 were invalid, the last (maxima/%s): %s",
			found.id, found.wrong)}, nil
	}
	return r.settled(found), nil, nil
}

// find returns the known maximum, or measures it.
func (m maxima) find(ctx context.Context, b *bench, writer *result.Writer, most run) (maximum, error) {
	key := identity(most.spec)
	if found, known := m[key]; known {
		return found, nil
	}
	found, known, err := keptMaximum(writer, most)
	if err != nil {
		return maximum{}, err
	}
	if !known {
		if found, err = findMaximum(ctx, b, writer, most); err != nil {
			return maximum{}, err
		}
	}
	m[key] = found
	return found, nil
}

// keptMaximum returns what an earlier run of the same experiment found.
func keptMaximum(writer *result.Writer, most run) (maximum, bool, error) {
	for _, trial := range writer.Maxima() {
		if !result.SameVariables(trial.Variables, most.variables) {
			continue
		}
		details, err := writer.MaximumFolder(trial.ID).Details()
		if err != nil {
			return maximum{}, false, fmt.Errorf("continue with what was measured: %w", err)
		}
		return maximumOf(trial, details), true, nil
	}
	return maximum{}, false, nil
}

// maximumOf reads the maximum from the trial that measured it.
func maximumOf(trial result.Trial, details result.Details) maximum {
	found := maximum{id: trial.ID, receivedPPS: details.ReceivedPPS, offeredPPS: trial.OfferedPPS}
	if trial.Verdict == result.Invalid {
		found.wrong = strings.Join(trial.Reasons, "; ")
	}
	if trial.Refused {
		found.refused = &trial
	}
	return found
}

// maximumTries is how often the search for a maximum runs an invalid trial before it gives up: a
// whole combination hangs on this one trial.
const maximumTries = 3

// findMaximum sends as fast as the port accepts packets and counts what arrives.
func findMaximum(ctx context.Context, b *bench, writer *result.Writer, most run) (maximum, error) {
	var rec result.Record
	for range maximumTries {
		if err := b.set(ctx, most); err != nil {
			return maximum{}, err
		}
		b.watch.Maximum(most.variables, most.stream.Lasts())
		var err error
		if rec, err = b.trial(ctx, most, 1); err == nil {
			err = b.whole()
		}
		if err != nil {
			return maximum{}, fmt.Errorf("search for the maximum: %w", err)
		}
		if ctx.Err() != nil {
			return maximum{}, context.Cause(ctx) // half a trial has no maximum
		}
		if rec.Trial.Verdict != result.Invalid || rec.Trial.Refused {
			break
		}
	}
	trial, err := writer.AddMaximum(rec)
	if err != nil {
		return maximum{}, err
	}
	return maximumOf(trial, rec.Details), nil
}
