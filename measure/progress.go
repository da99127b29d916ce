package measure

import (
	"time"

	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
)

// Progress is how a trial goes, about once a second.
type Progress struct {
	// Done is how long the trial has sent packets that are measured.
	Done time.Duration
	// Sent and Received are packets since the trial began; those on their way count as sent.
	Sent, Received uint64
	// RatePPS is how many packets came in the last second.
	RatePPS float64
	// Latency is of some of the packets so far, one in a trial, and one for each side of a duet; none where the engine keeps
	// no list of packets.
	Latency []SoFar
}

// SoFar are percentiles; nil where the packets are too few.
type SoFar struct{ P50, P99 *int64 }

// course follows a trial.
type course struct {
	received uint64
	sides    []*result.Histogram
}

// courseOf is the course of a trial with one side or two.
func courseOf(sides int) *course {
	c := &course{}
	for range sides {
		c.sides = append(c.sides, result.NewHistogram())
	}
	return c
}

// with is the progress after another second.
func (c *course) with(p traffic.Progress) Progress {
	progress := Progress{Done: time.Duration(p.Second) * time.Second, Sent: p.Sent, Received: p.Received, RatePPS: float64(p.Received - c.received)}
	c.received = p.Received
	for _, one := range p.Seen {
		side := 0
		if one.SideB && len(c.sides) > 1 {
			side = 1
		}
		c.sides[side].Record(int64(one.LatencyNs))
	}
	for _, side := range c.sides {
		if side.Count() > 0 {
			all := side.Percentiles()
			progress.Latency = append(progress.Latency, SoFar{all.P50, all.P99})
		}
	}
	return progress
}
