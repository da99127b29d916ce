package method

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/result"
)

// A packet that leaves late has waited in the generator, and that wait is part of its latency. Where the
// generator is what bounds a throughput, at that rate its queue is all that a latency shows. So latencies
// are then measured at the highest step at which the generator keeps pace.

const (
	// paceShare is how small the 99th percentile of the send lag must be, as a part of the time between
	// two packets: beyond that, packets begin to queue in the generator.
	paceShare = 0.1
	// paceProbe is the longest trial that looks whether the generator keeps pace.
	paceProbe = time.Second
)

// paceSteps are the parts of a throughput that are tried: those of the frame loss test, and below them what
// a slow generator may need.
var paceSteps = []float64{1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001}

// keptPace reports whether the generator kept pace at a rate.
func (o Outcome) keptPace(ratePPS float64) bool {
	return o.Unsent == 0 && o.SendLagP99.Seconds()*ratePPS < paceShare
}

// pace is the highest part of a throughput at which a latency is the network's; or why there is none.
type pace struct {
	share  float64
	reason string
}

// paceOf finds the pace for a throughput: all of it, unless the generator bounds it. Trials of a latency test
// last `trial`.
func (c *course) paceOf(ctx context.Context, throughput result.Finding, trial time.Duration) (pace, error) {
	if !throughput.AtLeast || throughput.Value == nil {
		return pace{share: 1}, nil
	}
	if known, ok := c.paces[throughput.Name]; ok {
		return known, nil
	}
	found := pace{reason: fmt.Sprintf("not measured, for even at %g %% of %s the 99th percentile of the generator's send lag was not below a tenth of the time between packets",
		100*paceSteps[len(paceSteps)-1], throughput.Name)}
	for _, share := range paceSteps {
		rate := share * *throughput.Value
		outcome, err := c.run(ctx, Load{RatePPS: rate, Duration: min(trial, paceProbe), Purpose: fmt.Sprintf("send lag at %.4g %% of %s", 100*share, throughput.Name)})
		if err != nil {
			return pace{reason: "not measured: " + err.Error()}, err
		}
		if outcome.keptPace(rate) {
			found = pace{share: share}
			break
		}
	}
	c.paces[throughput.Name] = found
	if found.share < 1 && found.reason == "" {
		c.deviate(fmt.Sprintf("latency: at %.4g %% of %s instead of all of it, because at higher rates the generator's own queue would be measured",
			100*found.share, throughput.Name))
	}
	return found, nil
}

// noteLag remarks that a latency has the generator's own queue in it.
func (c *course) noteLag(o Outcome, ratePPS float64) {
	if !o.keptPace(ratePPS) {
		c.odd("the generator's own queue is part of it: the 99th percentile of its send lag was not below a tenth of the time between packets")
	}
}

// withoutUnsent is the outcome if the packets that the generator did not send had arrived.
func (o Outcome) withoutUnsent() Outcome {
	o.Received += min(o.Unsent, o.Lost())
	return o
}

// boundByGenerator is why a throughput is only a least one: above it, what was lost had not been sent.
func boundByGenerator(ratePPS float64) string {
	return fmt.Sprintf("the generator bounds it: at %.0f packets/s it did not send all packets, and the network did not lose too many of those sent", ratePPS)
}

// sustained is the rate at which the packets of a trial really left, if they were due at ratePPS: the last
// of them left late.
func (o Outcome) sustained(ratePPS float64, duration time.Duration) float64 {
	return ratePPS * float64(duration) / float64(duration+o.SendLagMax)
}
