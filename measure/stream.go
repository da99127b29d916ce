package measure

import (
	"strings"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// settled is the run at its fraction of a maximum, or a search with that maximum as its ceiling.
func (r run) settled(found maximum) run {
	fraction := r.stream.RateOfMaximum
	if fraction == 0 {
		r.ceilingPPS = found.offeredPPS
		return r
	}
	r.stream.RatePPS = fraction * found.receivedPPS
	r.share = &result.Share{ID: found.id, ReceivedPPS: found.receivedPPS, Fraction: fraction}
	return r
}

// at is the run with one trial's load instead of its own.
func (r run) at(load method.Load) run {
	stream := &r.stream
	stream.RatePPS, stream.RateBits, stream.RateOfMaximum = load.RatePPS, 0, 0
	stream.Duration = spec.Duration(load.Duration)
	stream.Warmup = min(stream.Warmup, stream.Duration/warmupShare)
	if load.Packets > 0 {
		// A schedule of N packets ends half a gap after the last. A warm-up would fill the buffers
		// whose depth a burst measures.
		stream.Duration = spec.Duration((float64(load.Packets) - 0.5) / load.RatePPS * float64(time.Second))
		stream.Warmup, stream.Burst, stream.Pattern = 0, 1, spec.PatternConstant
	}
	if load.Drain > 0 {
		stream.Drain = spec.Duration(load.Drain)
	}
	if !asksForLatency(load.Purpose) {
		stream.Outliers = min(stream.Outliers, searchOutliers)
	}
	return r
}

// warm is the run without a warm-up: the windows of a soak are as close to one load as possible,
// except after a fault.
func (r run) warm() run {
	r.stream.Warmup = 0
	return r
}

// asksForLatency tells by its purpose whether a trial is run for its latency.
func asksForLatency(purpose string) bool { return strings.HasPrefix(purpose, "latency") }
