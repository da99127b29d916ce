package measure

import (
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// duetOf is what a trial with two sides says of them; nil without a duet.
func duetOf(asked *spec.Duet, planned *plan.Duet) *result.Duet {
	if asked == nil || planned == nil {
		return nil
	}
	d := &result.Duet{
		Least:       result.DuetLeast{Share: asked.Least.Share, LatencyNs: int64(asked.Least.Latency)},
		Beside:      beside(planned),
		Comparisons: []result.DuetComparison{},
	}
	for i, side := range asked.Sides {
		d.Sides = append(d.Sides, result.DuetSide{Name: side.Name, Label: side.Label, Settings: planned.Sides[i].Settings})
	}
	return d
}

// beside says how both sides ran on the one host.
func beside(d *plan.Duet) []string {
	list := []string{
		"Both sides ran side by side: they shared the host, its caches and its softirqs",
		"The intervals are for this trial: under another load of the host the sides may differ by more or less",
	}
	switch d.Forwarding {
	case plan.ForwardingOne:
		list = append(list, "One thread of nines forwarded for both, and looked at their packets in random order")
	case plan.ForwardingAsleep:
		list = append(list, "The forwarders of nines had no CPU of their own and slept until packets came, so the latencies through them include a wake-up")
	case plan.ForwardingApart:
		list = append(list, "Each forwarder of nines had a CPU of its own, so that a difference between the two CPUs counts as one between the sides")
	}
	for _, text := range d.Differs {
		list = append(list, "Besides, "+text)
	}
	return list
}
