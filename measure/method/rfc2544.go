package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// RFC2544 is the benchmark of RFC 2544 section 26 with frames of one size: throughput, latency,
// frame loss rate and back-to-back frames, the last as corrected by RFC 9004.
type RFC2544 struct {
	// Tests are the tests to run. Latency and back-to-back need the throughput, so they measure it
	// too.
	Tests []spec.RFC2544Test
	// Throughput finds the highest rate without loss (section 26.1).
	Throughput MLRsearch
	Latency    LatencyTest
	FrameLoss  FrameLossTest
	BackToBack BackToBackTest
	// Settle is the pause before a trial, and Drain the wait for stragglers after it.
	Settle, Drain time.Duration
	// Under measures latency under load afterwards.
	Under      UnderLoad
	FrameBytes int
	Quick      bool
}

// The waits of RFC 2544 section 23, and those of quick.
const (
	rfc2544Settle      = 5 * time.Second
	rfc2544Drain       = 2 * time.Second
	rfc2544QuickSettle = 200 * time.Millisecond
	rfc2544QuickDrain  = 200 * time.Millisecond
)

var rfc2544Tests = []spec.RFC2544Test{spec.TestThroughput, spec.TestLatency, spec.TestFrameLoss, spec.TestBackToBack}

// RFC2544Of returns the options for an experiment file.
func RFC2544Of(m spec.Method, at Setting) (RFC2544, error) {
	throughput, err := throughputOf(m, at)
	o := RFC2544{
		Tests: m.Tests, Throughput: throughput,
		Latency: latencyTestOf(m), FrameLoss: frameLossTestOf(m, at), BackToBack: backToBackTestOf(m, at),
		Settle: rfc2544Settle, Drain: rfc2544Drain,
		Under: underLoadOf(m), FrameBytes: at.FrameBytes, Quick: m.Quick,
	}
	if len(o.Tests) == 0 {
		o.Tests = rfc2544Tests
	}
	if m.Quick {
		o.Settle, o.Drain = rfc2544QuickSettle, rfc2544QuickDrain
	}
	if m.Settle > 0 {
		o.Settle = time.Duration(m.Settle)
	}
	return o, errors.Join(err, o.check())
}

// throughputOf returns the search for RFC 2544's throughput: MLRsearch with that goal. Its final
// trial is a full one, and the earlier ones are short, as sections 26.1 and 24 allow.
func throughputOf(m spec.Method, at Setting) (MLRsearch, error) {
	m.Goals = []*spec.Goal{{Name: "rfc2544"}}
	o, err := MLRsearchOf(m, at)
	for i := range o.Goals {
		o.Goals[i].Name = "throughput"
	}
	return o, err
}

// Search runs the tests.
func (o RFC2544) Search(ctx context.Context, trial Trial) (result.Search, error) {
	c := newCourse(string(spec.MethodRFC2544), trial)
	c.settle, c.drain = o.Settle, o.Drain
	if err := o.check(); err != nil {
		return c.search, err
	}
	o.deviations(c)
	return c.outcome(o.run(ctx, c))
}

func (o RFC2544) run(ctx context.Context, c *course) error {
	var throughput result.Finding
	if o.runs(spec.TestThroughput, spec.TestLatency, spec.TestBackToBack) {
		if err := o.Throughput.measure(ctx, c); err != nil {
			return err
		}
		throughput = c.search.Findings[len(c.search.Findings)-1]
	}
	if o.runs(spec.TestLatency) {
		if err := o.Latency.measure(ctx, c, throughput); err != nil {
			return err
		}
	}
	if o.runs(spec.TestFrameLoss) {
		if err := o.FrameLoss.measure(ctx, c); err != nil {
			return err
		}
	}
	if o.runs(spec.TestBackToBack) {
		if err := o.BackToBack.measure(ctx, c, throughput); err != nil {
			return err
		}
	}
	return o.Under.measure(ctx, c, throughput)
}

// runs reports whether one of the tests is requested.
func (o RFC2544) runs(tests ...spec.RFC2544Test) bool {
	return slices.ContainsFunc(tests, func(t spec.RFC2544Test) bool { return slices.Contains(o.Tests, t) })
}

// deviations records where the options deviate from the standard.
func (o RFC2544) deviations(c *course) {
	standard := spec.MethodRFC2544.Descriptor()
	c.deviate(frameSize(o.FrameBytes, standard.FrameSizes, standard.SizesBy)...)
	c.deviate(shorter("a rest before trials", o.Settle, rfc2544Settle, "RFC 2544 section 23", o.Quick)...)
	c.deviate(shorter("a wait after trials", o.Drain, rfc2544Drain, "RFC 2544 section 23", o.Quick)...)
	if o.runs(spec.TestThroughput, spec.TestLatency, spec.TestBackToBack) {
		c.deviate(shorter("throughput: final trials", o.Throughput.Goals[0].FinalTrial, rfc2544Trial, "RFC 2544 section 24", o.Quick)...)
	}
	if o.runs(spec.TestLatency) {
		c.deviate(o.Latency.deviations(o.Quick)...)
	}
	if o.runs(spec.TestFrameLoss) {
		c.deviate(o.FrameLoss.deviations(o.Quick)...)
	}
	if o.runs(spec.TestBackToBack) {
		c.deviate(o.BackToBack.deviations(o.Quick)...)
	}
}

// rfc2544Trial is the shortest length of a final trial (section 24).
const rfc2544Trial = 60 * time.Second

// check says what is wrong with the options.
func (o RFC2544) check() error {
	for _, t := range o.Tests {
		if !slices.Contains(rfc2544Tests, t) {
			return fmt.Errorf("method: RFC 2544 has no test %q: it has %v", t, rfc2544Tests)
		}
	}
	if len(o.Tests) == 0 {
		return fmt.Errorf("method: no test of RFC 2544 to run: it has %v", rfc2544Tests)
	}
	return errors.Join(o.Throughput.check(), o.Latency.check(), o.FrameLoss.check(), o.BackToBack.check(), o.Under.check())
}

// withoutThroughput is why a test that needs the throughput has no value; empty if the throughput
// is known.
func withoutThroughput(throughput result.Finding) string {
	if throughput.Value != nil && isRate(*throughput.Value) {
		return ""
	}
	return "not measured, for the throughput is not known"
}
