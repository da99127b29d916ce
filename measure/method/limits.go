package method

import (
	"fmt"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Limits are what a service must keep; missing limits are not judged.
type Limits struct {
	// LossRatio is the highest permitted loss, or nil.
	LossRatio *float64
	// Latency is the highest latency at Percentile, and Variation the highest delay variation: that
	// percentile minus the minimum. 0 does not judge.
	Latency, Variation time.Duration
	// Percentile is between 0 and 100.
	Percentile float64
}

// defaultPercentile is the percentile for latency if the limits name none: that of the worst-case
// latency in RFC 8219 section 7.2.
const defaultPercentile = 99.9

func limitsOf(l *spec.Limits) Limits {
	if l == nil {
		return Limits{Percentile: defaultPercentile}
	}
	out := Limits{LossRatio: l.LossRatio, Latency: time.Duration(l.Latency), Variation: time.Duration(l.Variation), Percentile: l.Percentile}
	if out.Percentile == 0 {
		out.Percentile = defaultPercentile
	}
	return out
}

// counted is what the limits judge: the packets of one or more trials.
type counted struct {
	intended, received uint64
	latency            *result.Histogram
	trial              string
	clockError         time.Duration
}

func (o Outcome) counted() counted {
	return counted{intended: o.Intended, received: o.Received, latency: o.Latency, trial: o.ID, clockError: o.ClockError}
}

func (n counted) outcome() Outcome { return Outcome{Intended: n.intended, Received: n.received} }

// judge makes findings from the counts, each with its limit and whether it was kept.
func (l Limits) judge(n counted, conditions map[string]any) []result.Finding {
	loss := result.Finding{Name: "loss", Unit: "ratio", Conditions: conditions, Trial: n.trial}
	if n.intended == 0 {
		loss.Reason = "nothing was sent"
	} else {
		loss.Value = value(n.outcome().LossRatio())
	}
	latency := result.Finding{Name: fmt.Sprintf("latency p%g", l.Percentile), Unit: "ns", Conditions: conditions, Trial: n.trial}
	variation := result.Finding{Name: fmt.Sprintf("delay variation p%g", l.Percentile), Unit: "ns", Conditions: conditions, Trial: n.trial}
	if p := result.Part(l.Percentile); supported(n.latency, p) {
		ns := at(n.latency, p)
		latency.Value = &ns
		variation.Value = value(ns - float64(*n.latency.Percentiles().Min))
	} else {
		latency.Reason = fmt.Sprintf("too few packets arrived for the %gth percentile", l.Percentile)
		variation.Reason = latency.Reason
	}
	if l.LossRatio != nil {
		hold(&loss, *l.LossRatio, n.outcome().LosesAtMost(*l.LossRatio))
	}
	if l.Latency > 0 {
		// The latency may be as much larger as the clocks are wrong.
		hold(&latency, float64(l.Latency), latency.Value != nil && *latency.Value+float64(n.clockError) <= float64(l.Latency))
	}
	if l.Variation > 0 {
		within(&variation, float64(l.Variation))
	}
	return []result.Finding{loss, latency, variation}
}

// within gives a finding a limit that its value must not exceed.
func within(f *result.Finding, limit float64) {
	hold(f, limit, f.Value != nil && *f.Value <= limit)
}

// hold gives a finding a limit, kept or not. A finding without a value fails: a service that cannot
// be measured does not pass.
func hold(f *result.Finding, limit float64, kept bool) {
	passed := kept && f.Value != nil
	f.Limit, f.Passed = &limit, &passed
}

// passed reports whether all findings with a limit keep it; nil if none has one.
func passed(findings []result.Finding) *bool {
	var all *bool
	for _, f := range findings {
		if f.Passed != nil {
			both := *f.Passed && (all == nil || *all)
			all = &both
		}
	}
	return all
}

// check says what is wrong with the limits.
func (l Limits) check() error {
	switch {
	case l.LossRatio != nil && !(*l.LossRatio >= 0 && *l.LossRatio <= 1):
		return fmt.Errorf("method: a limit on loss is between 0 and 1, not %g", *l.LossRatio)
	case l.Latency < 0 || l.Variation < 0:
		return fmt.Errorf("method: a limit on latency or its variation is above 0, not %s and %s", l.Latency, l.Variation)
	case !(l.Percentile > 0 && l.Percentile < 100):
		return fmt.Errorf("method: latency is judged at a percentile between 0 and 100, not %g", l.Percentile)
	}
	return nil
}
