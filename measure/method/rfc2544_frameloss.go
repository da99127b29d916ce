package method

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// FrameLossTest is RFC 2544 section 26.3: the fraction of frames lost at the highest rate, then at
// decreasing rates until two in a row lose none.
type FrameLossTest struct {
	// MaxPPS is the rate that counts as 100 %.
	MaxPPS float64
	// LinePPS is the theoretical rate of the links; 0 without one.
	LinePPS float64
	// Step is how much lower each rate is than the one before, as a fraction of MaxPPS.
	Step float64
	// Trial is the duration of each trial.
	Trial time.Duration
}

const (
	// frameLossStep is the largest step that the standard allows.
	frameLossStep = 0.1
	// lineSlack is how far below the medium's rate still counts as that rate: Ethernet clocks may
	// differ by 100 ppm (IEEE 802.3), and a measured ceiling is not exact.
	lineSlack = 0.001
)

func frameLossTestOf(m spec.Method, at Setting) FrameLossTest {
	f := FrameLossTest{MaxPPS: m.MaxRatePPS, LinePPS: at.LinePPS, Step: frameLossStep, Trial: rfc2544Trial}
	if f.MaxPPS == 0 {
		f.MaxPPS = at.CeilingPPS
	}
	if m.Quick {
		f.Trial /= mlrQuick
	}
	if m.Trial > 0 {
		f.Trial = time.Duration(m.Trial)
	}
	return f
}

// measure adds the loss at each rate.
func (f FrameLossTest) measure(ctx context.Context, c *course) error {
	lossless := 0
	for step := 0; lossless < 2; step++ {
		part := 1 - float64(step)*f.Step
		if part <= 1e-9 {
			return nil // even the lowest rate lost some: each has its finding
		}
		found := result.Finding{Name: "frame loss rate", Unit: "ratio", Conditions: map[string]any{"load": part, "rate_pps": part * f.MaxPPS}}
		outcome, err := c.run(ctx, Load{RatePPS: part * f.MaxPPS, Duration: f.Trial, Purpose: fmt.Sprintf("frame loss at %.4g %%", 100*part)})
		if err != nil {
			found.Reason = err.Error()
			c.find(found)
			return err
		}
		loss := outcome.LossRatio()
		found.Value, found.Trial = &loss, outcome.ID
		c.find(found)
		if lossless++; outcome.Lost() > 0 {
			lossless = 0
		}
	}
	return nil
}

func (f FrameLossTest) deviations(quick bool) []string {
	out := shorter("frame loss rate: trials", f.Trial, rfc2544Trial, "RFC 2544 section 24", quick)
	const source = "RFC 2544 section 26.3"
	switch {
	case f.LinePPS == 0:
		out = append(out, fmt.Sprintf("frame loss rate: from %.0f packets/s down, where %s begins at the maximum rate of the medium, because the links have none", f.MaxPPS, source))
	case f.MaxPPS < f.LinePPS*(1-lineSlack):
		out = append(out, fmt.Sprintf("frame loss rate: from %.0f packets/s down, where %s begins at the maximum rate of the medium, %.0f, because the generator or the experiment file ends there", f.MaxPPS, source, f.LinePPS))
	}
	return out
}

func (f FrameLossTest) check() error {
	switch {
	case !isRate(f.MaxPPS):
		return fmt.Errorf("method: the frame loss rate needs a highest rate above 0, not %g packets/s: set max_rate_pps", f.MaxPPS)
	case !(f.Step > 0 && f.Step <= frameLossStep):
		return fmt.Errorf("method: the frame loss rate goes down by at most %g of the highest rate at a time, not %g (RFC 2544 section 26.3)", frameLossStep, f.Step)
	case f.Trial <= 0:
		return fmt.Errorf("method: the frame loss rate needs trials that last, not %s", f.Trial)
	}
	return nil
}
