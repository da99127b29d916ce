package undisturbed

import (
	"fmt"
	"strconv"
)

const (
	// leastKept is the share of packets that must be left: of fewer, too much rests on the weights.
	leastKept = 0.5
	// dependent is the p-value below which interruptions depend on the traffic.
	dependent = 0.01
)

// refuse says why there is no distribution.
func (d *Distribution) refuse(test *independence) string {
	for _, cpu := range d.cpus {
		if cpu.Missing > 0 {
			return fmt.Sprintf("%s had %d more interruptions than its list could hold", cpu.Name, cpu.Missing)
		}
	}
	if d.Kept+d.KeptLost+d.Touched+d.TouchedLost == 0 {
		return "no packet was due"
	}
	if share := d.Share(); share < leastKept {
		return fmt.Sprintf("interruptions touched %.0f %% of the packets, more than half", 100*(1-share))
	}
	if d.Assumed = test.few(); d.Assumed {
		return ""
	}
	if test.close() {
		return "interruptions follow one another too closely to tell whether the traffic causes them"
	}
	if test.differ() < dependent {
		return "interruptions depend on the traffic: before them, other numbers of packets were on the path than at random moments"
	}
	return ""
}

// tooCoarse says why percentile p could rest on interruptions that are too short to be listed: they may take a tenth of
// the packets beyond it.
func (d *Distribution) tooCoarse(p float64) string {
	short := 0.0
	for _, cpu := range d.cpus {
		short += float64(cpu.ShortNs) / float64(d.lengthNs)
	}
	if limit := (1 - p) / 10; short > limit {
		return fmt.Sprintf("interruptions that are too short to be listed may take %.2g %% of the time: %s needs less than %.2g %%", 100*short, percent(p), 100*limit)
	}
	return ""
}

func tooFew(p float64, kept uint64) string {
	return fmt.Sprintf("%d packets are left, and %s needs %.0f", kept, percent(p), 1/(1-p))
}

// tooDense says why packets of a latency are too seldom between two interruptions.
func (d *Distribution) tooDense(latencyNs float64) string {
	if escapes := d.exposure.Escapes(latencyNs); escapes < d.exposure.Escapes(0)/mostWeight {
		return fmt.Sprintf("interruptions are so close that a packet of %.1f µs hardly escapes them", latencyNs/1000)
	}
	return ""
}

func percent(p float64) string {
	return "p" + strconv.FormatFloat(100*p, 'f', -1, 64)
}
