package method

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// LatencyTest is RFC 2544 section 26.2: the latency at the throughput. The standard tags one frame
// of each trial, after 60 s; here every frame is tagged, and a trial's latency is the mean of all.
type LatencyTest struct {
	// Trial is the duration of the stream, Repeats how often it is sent.
	Trial   time.Duration
	Repeats int
}

// The standard's values (RFC 2544 section 26.2), and those of quick.
const (
	latencyTrial        = 120 * time.Second
	latencyRepeats      = 20
	latencyQuickTrial   = 2 * time.Second
	latencyQuickRepeats = 3
)

func latencyTestOf(m spec.Method) LatencyTest {
	if m.Quick {
		return LatencyTest{Trial: latencyQuickTrial, Repeats: latencyQuickRepeats}
	}
	return LatencyTest{Trial: latencyTrial, Repeats: latencyRepeats}
}

// measure adds the average of the repeats, between the least and the largest of them.
func (l LatencyTest) measure(ctx context.Context, c *course, throughput result.Finding) error {
	found := result.Finding{Name: "latency", Unit: "ns", Conditions: map[string]any{
		"repeats": l.Repeats, "statistic": "mean of repeats of the mean of all frames", "load": 1.0, "of": throughput.Name,
	}, Reason: withoutThroughput(throughput)}
	if found.Reason != "" {
		c.find(found)
		return nil
	}
	at, err := c.paceOf(ctx, throughput, l.Trial)
	if at.reason != "" {
		found.Reason = at.reason
		c.find(found)
		return err
	}
	found.Conditions["load"] = at.share
	rate := at.share * *throughput.Value
	var means []float64
	for repeat := range l.Repeats {
		outcome, err := c.steady(ctx, Load{
			RatePPS: rate, Duration: l.Trial,
			Purpose: fmt.Sprintf("latency, repeat %d", repeat+1),
		})
		if err != nil {
			found.Reason = fmt.Sprintf("the test ended after %d repeats: %v", len(means), err)
			c.find(found)
			return err
		}
		if outcome.Latency == nil || outcome.Latency.Count() == 0 {
			found.Reason = "a trial recorded no latency"
			c.find(found)
			return nil
		}
		c.noteLag(outcome, rate)
		means = append(means, *outcome.Latency.Percentiles().Mean)
		found.Trial = outcome.ID
	}
	found.Value, found.Low, found.High = value(mean(means)), value(rank(means, 0)), value(rank(means, 1))
	c.find(found)
	return nil
}

func (l LatencyTest) deviations(quick bool) []string {
	const source = "RFC 2544 section 26.2"
	return append(
		shorter("latency: streams", l.Trial, latencyTrial, source, quick),
		fewer("repeats of the latency test", l.Repeats, latencyRepeats, source, quick)...)
}

func (l LatencyTest) check() error {
	if l.Trial <= 0 || l.Repeats < 1 {
		return fmt.Errorf("method: the latency test needs streams that last, not %d of %s", l.Repeats, l.Trial)
	}
	return nil
}
