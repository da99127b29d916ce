package link

import (
	"fmt"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// impair sets up what the kernel impairs at the ends, and records all that is impaired. A switch
// gets its impairments with its ports (impairment).
func (s *Site) impair(l plan.Link, endpoints []plan.Endpoint) error {
	for _, e := range endpoints {
		what := l.ImpairmentOf(e)
		if what == nil {
			continue
		}
		if what.By == spec.ImpairByNetem {
			if err := s.netem(e, what.Impairment); err != nil {
				return fmt.Errorf("impair what %s sends: %w", e.Name(), err)
			}
		}
		s.record(e.Node, l.Name, e.Interface, map[string]string{"impaired": what.String()})
	}
	return nil
}

// impairment is what a switch does to the packets of an endpoint's port; nil: nothing.
func impairment(l plan.Link, e plan.Endpoint) *client.Impairment {
	what := l.ImpairmentOf(e)
	if what == nil {
		return nil
	}
	return &client.Impairment{
		DelayNs: int64(time.Duration(what.Delay)), JitterNs: int64(time.Duration(what.Jitter)), Distribution: string(what.Distribution),
		Loss: what.Loss, Duplicate: what.Duplicate, Reorder: what.Reorder, Corrupt: what.Corrupt,
		RateBPS: int64(what.Rate), Seed: int64(what.Seed), Limit: what.Limit,
	}
}
