package method

import (
	"fmt"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Result evaluates the windows so far: all of them together, judged by the limits, and the worst.
// An unfinished soak has not passed yet, but may have failed.
func (o Soak) Result(s SoakState) result.Search {
	c := newCourse(string(spec.MethodSoak), nil)
	all := counted{latency: result.NewHistogram()}
	invalid := 0
	for _, w := range s.Windows {
		all.intended += w.Intended
		all.received += min(w.Received, w.Intended)
		if w.Received > w.Intended {
			c.odd("more packets arrived in a window than were intended, which counts as no loss")
		}
		if w.Invalid == "" {
			all.latency.Merge(w.Latency)
			all.clockError = max(all.clockError, w.ClockError)
		} else {
			invalid++
		}
		c.keep(Load{RatePPS: o.RatePPS, Duration: w.Lasts, Purpose: "window"}, Outcome{
			ID: w.Trial, Intended: w.Intended, Received: w.Received, Elapsed: w.Elapsed,
		}, w.Invalid)
	}
	if invalid > 0 {
		c.odd(fmt.Sprintf("%d of %d windows were invalid: their loss counts, their latency does not", invalid, len(s.Windows)))
	}
	o.deviations(c, s)
	conditions := map[string]any{"rate_pps": o.RatePPS, "seconds": s.lasted().Seconds(), "windows": len(s.Windows)}
	for _, f := range o.Limits.judge(all, conditions) {
		c.find(f)
	}
	c.find(worst(s, o.Limits.Percentile))
	c.search.Passed = o.verdict(c.search.Findings, s)
	found, _ := c.outcome(nil)
	return found
}

// verdict reports whether the limits were kept. Before the end only a failure is known.
func (o Soak) verdict(findings []result.Finding, s SoakState) *bool {
	kept := passed(findings)
	if _, more := o.Next(s); more && kept != nil && *kept {
		return nil
	}
	return kept
}

// worst is the largest latency at the percentile in any window.
func worst(s SoakState, percentile float64) result.Finding {
	f := result.Finding{Name: fmt.Sprintf("latency p%g of the worst window", percentile), Unit: "ns"}
	for i, w := range s.Windows {
		if w.Invalid != "" || !supported(w.Latency, result.Part(percentile)) {
			continue
		}
		if ns := at(w.Latency, result.Part(percentile)); f.Value == nil || ns > *f.Value {
			f.Value, f.Trial, f.Conditions = &ns, w.Trial, map[string]any{"window": i + 1}
		}
	}
	if f.Value == nil {
		f.Reason = fmt.Sprintf("no window had enough packets for the %gth percentile", percentile)
	}
	return f
}

// deviations records interruptions of a soak. There is no standard to deviate from, but the network
// gets no credit for a pause.
func (o Soak) deviations(c *course, s SoakState) {
	if s.Interruptions > 0 {
		times := "once"
		if s.Interruptions > 1 {
			times = fmt.Sprintf("%d times", s.Interruptions)
		}
		c.deviate(fmt.Sprintf("the soak was interrupted and continued %s: the network was not loaded in between", times))
	}
	if _, more := o.Next(s); more {
		c.deviate(fmt.Sprintf("%s of %s, because the soak is not over", s.lasted(), o.Length))
	}
}
