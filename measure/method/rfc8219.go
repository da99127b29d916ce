package method

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// RFC8219 is latency and packet delay variation after RFC 8219 sections 7.2 and 7.3.1, at the
// throughput. Every frame is tagged; the standard requires at least 500. Its 120 s stream for
// latency contains the 60 s for the variation, so one stream serves both.
type RFC8219 struct {
	Throughput MLRsearch
	// Trial is the duration of a stream, Repeats how often it is sent.
	Trial   time.Duration
	Repeats int
	// Settle is the pause before a trial, and Drain the wait for stragglers after it.
	Settle, Drain time.Duration
	// Under measures latency under load afterwards.
	Under      UnderLoad
	FrameBytes int
	Quick      bool
}

// The standard's values (RFC 8219 section 7.2).
const (
	rfc8219Source = "RFC 8219 section 7.2"
	rfc8219Tagged = 500
)

// RFC8219Of returns the options for an experiment file.
func RFC8219Of(m spec.Method, at Setting) (RFC8219, error) {
	base, err := RFC2544Of(m, at)
	return RFC8219{
		Throughput: base.Throughput, Trial: base.Latency.Trial, Repeats: base.Latency.Repeats,
		Settle: base.Settle, Drain: base.Drain, Under: base.Under, FrameBytes: at.FrameBytes, Quick: m.Quick,
	}, err
}

// Search measures the throughput, then latency and its variation there.
func (o RFC8219) Search(ctx context.Context, trial Trial) (result.Search, error) {
	c := newCourse(string(spec.MethodRFC8219), trial)
	c.settle, c.drain = o.Settle, o.Drain
	if err := o.check(); err != nil {
		return c.search, err
	}
	c.deviate(frameSize(o.FrameBytes, FrameSizesRFC8219, "RFC 8219 section 5.1.1")...)
	c.deviate(shorter("a rest before trials", o.Settle, rfc2544Settle, "RFC 2544 section 23", o.Quick)...)
	c.deviate(shorter("a wait after trials", o.Drain, rfc2544Drain, "RFC 2544 section 23", o.Quick)...)
	c.deviate(shorter("throughput: final trials", o.Throughput.Goals[0].FinalTrial, rfc2544Trial, "RFC 8219 section 7.1", o.Quick)...)
	c.deviate(shorter("streams", o.Trial, latencyTrial, rfc8219Source, o.Quick)...)
	c.deviate(fewer("repeats", o.Repeats, latencyRepeats, rfc8219Source, o.Quick)...)
	return c.outcome(o.run(ctx, c))
}

func (o RFC8219) run(ctx context.Context, c *course) error {
	if err := o.Throughput.measure(ctx, c); err != nil {
		return err
	}
	throughput := c.search.Findings[len(c.search.Findings)-1]
	if err := o.streams(ctx, c, throughput); err != nil {
		return err
	}
	return o.Under.measure(ctx, c, throughput)
}

// rfc8219Figures are a stream's figures, and how to find each.
var rfc8219Figures = []struct {
	name string
	of   func(h *result.Histogram) float64
}{
	{"typical latency", func(h *result.Histogram) float64 { return at(h, 0.5) }},
	{"worst-case latency", func(h *result.Histogram) float64 { return at(h, 0.999) }},
	{"PDV", func(h *result.Histogram) float64 { return at(h, 0.999) - float64(*h.Percentiles().Min) }},
}

// at is the quantile of a histogram that has samples.
func at(h *result.Histogram, p float64) float64 {
	ns, _ := quantile(h, p)
	return ns
}

// streams sends the streams and adds the figures: the median of the repeats, between their 1st and
// 99th percentile.
func (o RFC8219) streams(ctx context.Context, c *course, throughput result.Finding) error {
	reason := withoutThroughput(throughput)
	at := pace{share: 1}
	var err error
	if reason == "" {
		at, err = c.paceOf(ctx, throughput, o.Trial)
		reason = at.reason
	}
	figures := make([][]float64, len(rfc8219Figures))
	var shown string
	for repeat := 0; repeat < o.Repeats && reason == ""; repeat++ {
		var outcome Outcome
		rate := at.share * *throughput.Value
		outcome, err = c.steady(ctx, Load{RatePPS: rate, Duration: o.Trial, Purpose: fmt.Sprintf("latency and PDV, repeat %d", repeat+1)})
		switch {
		case err != nil:
			reason = fmt.Sprintf("the test ended after %d repeats: %v", repeat, err)
			continue
		case outcome.Latency == nil || outcome.Latency.Count() < rfc8219Tagged:
			reason = fmt.Sprintf("fewer than %d frames of a stream arrived (%s)", rfc8219Tagged, rfc8219Source)
			continue
		}
		c.noteLag(outcome, rate)
		shown = outcome.ID
		for i, f := range rfc8219Figures {
			figures[i] = append(figures[i], f.of(outcome.Latency))
		}
	}
	for i, f := range rfc8219Figures {
		found := result.Finding{Name: f.name, Unit: "ns", Reason: reason, Conditions: map[string]any{
			"repeats": o.Repeats, "statistic": "median of repeats, from 1st to 99th percentile", "load": at.share, "of": throughput.Name,
		}}
		if reason == "" {
			found.Value, found.Trial = value(result.Median(figures[i])), shown
			found.Low, found.High = value(rank(figures[i], 0.01)), value(rank(figures[i], 0.99))
		}
		c.find(found)
	}
	return err
}

// check says what is wrong with the options.
func (o RFC8219) check() error {
	if o.Trial <= 0 || o.Repeats < 1 {
		return fmt.Errorf("method: RFC 8219 needs streams that last, not %d of %s", o.Repeats, o.Trial)
	}
	return errors.Join(o.Throughput.check(), o.Under.check())
}
