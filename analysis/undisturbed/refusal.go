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

// refuse says why packets that were not touched tell nothing.
func (s *Sieve) refuse() string {
	share := s.tally.Share()
	switch {
	case len(s.full) > 0:
		return fmt.Sprintf("%s had %d more interruptions than its list could hold", s.full[0].Name, s.full[0].Missing)
	case s.tally.all() == 0:
		return "no packet was due"
	case share < leastKept:
		return fmt.Sprintf("interruptions touched %.0f %% of the packets, more than half", 100*(1-share))
	case s.test.few():
		return ""
	case s.test.close():
		return "interruptions follow one another too closely to tell whether the traffic causes them"
	case s.test.differ() < dependent:
		return "interruptions depend on the traffic: before them, other numbers of packets were on the path than at random moments"
	}
	return ""
}

// Open says why the packets that were not touched do not tell percentile p, which has a value among them; "" if they do.
func (s *Sifted) Open(p, valueNs float64) string {
	if share, limit := s.unlisted(valueNs), (1-p)/10; share > limit {
		return fmt.Sprintf("interruptions that are too short to be listed may take %.2g %% of the time: %s needs less than %.2g %%", 100*share, percent(p), 100*limit)
	}
	return s.Hidden(valueNs)
}

// Hidden says why packets that took so long are not among those that were not touched; "" if they are.
func (s *Sifted) Hidden(valueNs float64) string {
	if s.exposure.escapes(valueNs) < s.exposure.escapes(0)/mostWeight {
		return fmt.Sprintf("interruptions are so close that a packet of %.1f µs hardly escapes them", valueNs/1000)
	}
	return ""
}

// Remains says what of the interruptions may still be in percentile p, as it was not listed; "" if that does not matter.
func (s *Sifted) Remains(p, valueNs float64) string {
	if share := s.unlisted(valueNs); share > (1-p)/10 {
		return fmt.Sprintf("interruptions that are too short to be listed, up to %.2g %% of the time", 100*share)
	}
	return ""
}

// unlisted is the share of the time that interruptions take which are too short to be listed. Those that are shorter than
// a tenth of a percentile's value do not move it further than that.
func (s *Sifted) unlisted(valueNs float64) float64 {
	var sum int64
	for _, one := range s.short {
		if float64(one.EachBelowNs) > valueNs/10 {
			sum += one.TotalNs
		}
	}
	return float64(sum) / float64(s.lengthNs)
}

func tooFew(p float64, kept uint64) string {
	return fmt.Sprintf("%d packets are left, and %s needs %.0f", kept, percent(p), 1/(1-p))
}

func percent(p float64) string {
	return "p" + strconv.FormatFloat(100*p, 'g', 10, 64)
}
