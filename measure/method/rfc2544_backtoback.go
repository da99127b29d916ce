package method

import (
	"context"
	"fmt"
	"math"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// BackToBackTest is RFC 2544 section 26.4 as corrected by RFC 9004: the longest burst at the
// theoretical rate without loss, and what it says about the buffers.
type BackToBackTest struct {
	// LinePPS is the theoretical frame rate of the bursts.
	LinePPS float64
	// FromGenerator means that the links have no theoretical rate: LinePPS is then what the
	// generator can send, or the experiment file's highest rate.
	FromGenerator bool
	// Ceiling is the longest burst to try.
	Ceiling time.Duration
	// Repeats is how often to search for the longest burst.
	Repeats int
	// Width ends a search: bursts that pass and fail differ by at most this fraction, or one frame.
	Width float64
}

// The standard's values (RFC 9004 section 5), and those of quick.
const (
	burstCeiling      = 30 * time.Second
	burstRepeats      = 50
	burstQuickCeiling = 2 * time.Second
	burstQuickRepeats = 5
)

func backToBackTestOf(m spec.Method, at Setting) BackToBackTest {
	b := BackToBackTest{LinePPS: at.LinePPS, Ceiling: burstCeiling, Repeats: burstRepeats, Width: DefaultWidth}
	if b.LinePPS == 0 {
		b.LinePPS, b.FromGenerator = at.CeilingPPS, true
		if b.LinePPS == 0 {
			b.LinePPS = m.MaxRatePPS
		}
	}
	if m.Width > 0 {
		b.Width = m.Width
	}
	if m.Quick {
		b.Ceiling, b.Repeats = burstQuickCeiling, burstQuickRepeats
	}
	return b
}

// measure adds the average burst with its deviation, and the buffer time, implied and corrected.
func (b BackToBackTest) measure(ctx context.Context, c *course, throughput result.Finding) error {
	found := result.Finding{Name: "back-to-back", Unit: "packets", Conditions: map[string]any{
		"rate_pps": b.LinePPS, "repeats": b.Repeats, "statistic": "mean of repeats",
	}}
	if found.Reason = withoutThroughput(throughput); found.Reason == "" && *throughput.Value >= b.LinePPS*(1-b.Width) {
		// RFC 9004 section 4: such a device needs no measurable buffer.
		found.Reason = "not measured, for the throughput is the theoretical rate"
		if b.FromGenerator {
			found.Reason = fmt.Sprintf("not measured, for the throughput is the rate of the bursts, %.0f packets/s", b.LinePPS)
		}
	}
	if found.Reason == "" && b.FromGenerator && throughput.AtLeast {
		found.Reason = "not measured, for the generator bounds the throughput: it cannot send bursts at more than that"
	}
	if found.Reason != "" {
		c.find(found)
		return nil
	}
	var bursts []float64
	guess := 0.0
	for range b.Repeats {
		longest, id, err := b.longest(ctx, c, guess, *throughput.Value)
		if err != nil {
			found.Reason = fmt.Sprintf("the test ended after %d repeats: %v", len(bursts), err)
			c.find(found)
			return err
		}
		if longest >= b.most() {
			found.Reason = fmt.Sprintf("a burst of %s, the longest to be tried, lost nothing", b.Ceiling)
			found.Low, found.Trial = value(longest), id
			c.find(found)
			return nil
		}
		bursts, guess, found.Trial = append(bursts, longest), longest, id
	}
	average, spread := mean(bursts), deviation(bursts)
	found.Value, found.Low, found.High = &average, value(rank(bursts, 0)), value(rank(bursts, 1))
	found.Conditions["standard_deviation"] = spread
	c.find(found)
	b.buffer(c, average, *throughput.Value)
	return nil
}

// buffer adds what the average burst says about the buffers: RFC 9004 section 5.4.
func (b BackToBackTest) buffer(c *course, average, throughput float64) {
	implied := average / b.LinePPS * float64(time.Second)
	// During the burst, frames leave at the throughput.
	corrected := implied * (1 - throughput/b.LinePPS)
	c.find(result.Finding{Name: "implied buffer time", Unit: "ns", Value: &implied})
	c.find(result.Finding{Name: "corrected buffer time", Unit: "ns", Value: &corrected})
}

// most is the longest burst, in frames.
func (b BackToBackTest) most() float64 { return math.Floor(b.Ceiling.Seconds() * b.LinePPS) }

// longest finds the longest burst without loss, starting from a guess: strides double until a burst
// passes and another fails, then it bisects.
func (b BackToBackTest) longest(ctx context.Context, c *course, guess, throughput float64) (frames float64, shown string, err error) {
	passed, failed := 0.0, b.most()+1 // 0 frames lose nothing
	next := guess
	if guess == 0 { // the first time
		next = b.most()
	}
	stride := max(1, next*b.Width)
	for {
		outcome, err := b.burst(ctx, c, next)
		if err != nil {
			return 0, "", err
		}
		if outcome.Lost() == 0 {
			passed, shown = next, outcome.ID
		} else {
			failed = next
		}
		if failed-passed <= max(1, b.Width*failed) {
			return passed, shown, nil
		}
		switch {
		case passed == 0 && guess == 0:
			guess = b.held(next, float64(outcome.Received), throughput)
			next, stride = guess, max(1, guess*b.Width)
		case passed == 0:
			next, stride = failed-stride, 2*stride
		case failed > b.most():
			next, stride = passed+stride, 2*stride
		default:
			next = (passed + failed) / 2
		}
		next = max(1, min(math.Floor(next), failed-1, b.most()))
		if next <= passed {
			next = passed + 1
		}
	}
}

// held estimates the burst that a device can hold from the frames of a longer burst that arrived:
// what did not leave at the throughput was in its buffer.
func (b BackToBackTest) held(sent, received, throughput float64) float64 {
	buffer := max(1, received-throughput*sent/b.LinePPS)
	return buffer / (1 - throughput/b.LinePPS)
}

// burst sends this many frames at the theoretical rate.
func (b BackToBackTest) burst(ctx context.Context, c *course, frames float64) (Outcome, error) {
	lasts := time.Duration(math.Ceil(frames / b.LinePPS * float64(time.Second)))
	return c.run(ctx, Load{RatePPS: b.LinePPS, Duration: lasts, Packets: uint64(frames), Purpose: fmt.Sprintf("burst of %.0f", frames)})
}

func (b BackToBackTest) deviations(quick bool) []string {
	const source = "RFC 9004 section 5"
	out := append(
		shorter("back-to-back: bursts up to a length", b.Ceiling, burstCeiling, source, quick),
		fewer("repeats of the back-to-back test", b.Repeats, burstRepeats, source, quick)...)
	if b.FromGenerator {
		out = append(out, fmt.Sprintf("back-to-back: bursts at %.0f packets/s, where %s has the theoretical rate, because the links have none", b.LinePPS, source))
	}
	return out
}

func (b BackToBackTest) check() error {
	switch {
	case !isRate(b.LinePPS):
		return fmt.Errorf("method: bursts need a rate above 0, not %g packets/s", b.LinePPS)
	case b.Ceiling <= 0 || b.Repeats < 1:
		return fmt.Errorf("method: the back-to-back test needs bursts, not %d times up to %s", b.Repeats, b.Ceiling)
	case !(b.Width > 0 && b.Width < 1):
		return fmt.Errorf("method: a search ends at a relative width between 0 and 1, not %g", b.Width)
	}
	return nil
}
