package method

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// UnderLoad measures latency under load after a search: a histogram at each of some fractions of
// the result, as fd.io CSIT does at 10, 50 and 90 %.
type UnderLoad struct {
	// Loads are the fractions, above 0; without any, nothing is measured.
	Loads []float64
	// Trial is the duration of each trial.
	Trial time.Duration
}

// The defaults: at 10,000 packets a second, the time gives 10^5 packets, enough for the 99.999th
// percentile.
const (
	underLoadTrial = 10 * time.Second
	underLoadQuick = time.Second
)

// defaultLoads are the fractions of the result.
var defaultLoads = []float64{0.1, 0.5, 0.9, 1}

// underLoadOf returns the options for an experiment file.
func underLoadOf(m spec.Method) UnderLoad {
	u := UnderLoad{Loads: m.Loads, Trial: underLoadTrial}
	if u.Loads == nil {
		u.Loads = defaultLoads
	}
	if m.Quick {
		u.Trial = underLoadQuick
	}
	return u
}

// measure runs the trials at fractions of a finding in packets a second, and adds the percentiles
// to the findings. Each trial keeps its whole histogram.
func (u UnderLoad) measure(ctx context.Context, c *course, of result.Finding) error {
	if of.Value == nil || !isRate(*of.Value) {
		return nil
	}
	if len(u.Loads) == 0 {
		return nil
	}
	at, err := c.paceOf(ctx, of, u.Trial)
	if at.reason != "" {
		c.find(result.Finding{Name: "latency", Unit: "ns", Conditions: map[string]any{"of": of.Name}, Reason: at.reason})
		return err
	}
	for _, fraction := range u.within(at) {
		rate := fraction * *of.Value
		outcome, err := c.steady(ctx, Load{
			RatePPS: rate, Duration: u.Trial,
			Purpose: fmt.Sprintf("latency at %.4g %% of %s", 100*fraction, of.Name),
		})
		conditions := map[string]any{"load": fraction, "of": of.Name}
		if err != nil {
			c.find(result.Finding{Name: "latency", Unit: "ns", Conditions: conditions, Reason: "not measured: " + err.Error()})
			return err
		}
		conditions["loss_ratio"] = outcome.LossRatio()
		c.noteLag(outcome, rate)
		c.latencies(outcome, conditions)
	}
	return nil
}

// within are the loads up to a pace: those beyond it become the pace itself.
func (u UnderLoad) within(at pace) []float64 {
	if at.share == 1 {
		return u.Loads
	}
	var loads []float64
	for _, load := range u.Loads {
		if load = min(load, at.share); !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
	}
	return loads
}

// latencyFigures are the histogram percentiles that become findings.
var latencyFigures = []string{"min", "p50", "p99", "p99_9", "p99_99", "p99_999", "max"}

// latencies adds the percentiles that the trial's count supports.
func (c *course) latencies(o Outcome, conditions map[string]any) {
	if o.Latency == nil || o.Latency.Count() == 0 {
		c.find(result.Finding{Name: "latency", Unit: "ns", Conditions: conditions, Trial: o.ID, Reason: "no packet arrived"})
		return
	}
	percentiles := o.Latency.Percentiles()
	for _, name := range latencyFigures {
		if ns := percentiles.Figure(name); ns != nil {
			c.find(result.Finding{
				Name: "latency " + strings.Replace(name, "_", ".", 1), Unit: "ns", Value: value(float64(*ns)),
				Conditions: conditions, Trial: o.ID,
			})
		}
	}
}

// check says what is wrong with the loads.
func (u UnderLoad) check() error {
	if slices.ContainsFunc(u.Loads, func(l float64) bool { return !isRate(l) }) {
		return fmt.Errorf("method: latency is measured at loads above 0, not at %v: change loads", u.Loads)
	}
	if len(u.Loads) > 0 && u.Trial <= 0 {
		return fmt.Errorf("method: latency under load needs trials that last, not %s", u.Trial)
	}
	return nil
}
