package measure

import (
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/traffic"
)

// TestTheCourseOfATrial: the rate is that of the last second, and percentiles are of all packets that were seen.
func TestTheCourseOfATrial(t *testing.T) {
	c := courseOf(2)
	seen := func(a, b uint32) (list []client.Glimpsed) {
		for range 100 {
			list = append(list, client.Glimpsed{LatencyNs: a}, client.Glimpsed{LatencyNs: b, SideB: true})
		}
		return list
	}
	c.with(traffic.Progress{Second: 1, Sent: 1000, Received: 990, Seen: seen(500, 700)})
	p := c.with(traffic.Progress{Second: 2, Sent: 2000, Received: 1999, Seen: seen(600, 700)})
	if p.Done.Seconds() != 2 || p.RatePPS != 1009 || p.Received != 1999 || len(p.Latency) != 2 {
		t.Fatalf("%+v", p)
	}
	if a, b := p.Latency[0], p.Latency[1]; *a.P50 != 500 || *b.P50 != 700 || a.P99 != nil && *a.P99 != 600 {
		t.Errorf("%d, %d, %v", *a.P50, *b.P50, a.P99)
	}
	if p := courseOf(1).with(traffic.Progress{Second: 1, Sent: 5, Received: 5}); len(p.Latency) != 0 {
		t.Errorf("latencies of no packet: %+v", p)
	}
}
