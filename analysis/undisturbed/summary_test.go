package undisturbed

import (
	"math"
	"testing"

	"nines.dev/nines/result"
)

// A tenth of the packets was held up: so p50 to p85 or so hold as measured, and the others do undisturbed.
func TestSummary(t *testing.T) {
	stalls := every(1000*ms, 10*ms, ms)
	packets := steady(1000*ms, 10*us, 5*us, stalls)
	measured := result.NewHistogram()
	for _, p := range packets {
		measured.Record(p.ReceivedNs - p.DueNs)
	}
	d := Of(trialOf(1000*ms, packets, CPU{Interruptions: stalls}))
	u := d.Summary([]string{"node dut: another clock"}, measured)
	if u.Refused != "" || u.Share < 0.88 || u.Share > 0.91 || u.Packets != d.Kept || u.HoldTo < 85 || u.HoldTo > 90 {
		t.Errorf("%+v", u)
	}
	if len(u.Assumed) != 1 || u.Assumed[0] != "no interruption where none is seen: node dut: another clock" {
		t.Errorf("assumed: %q", u.Assumed)
	}
	p99, p6n := u.Percentile("p99"), u.Percentile("p99_9999")
	if p99 == nil || *p99.ValueNs < 4990 || *p99.ValueNs > 5010 || *p99.LowNs > *p99.ValueNs || *p99.HighNs < *p99.ValueNs || p6n != nil || u.Percentiles[6].Open == "" {
		t.Errorf("p99 %+v, p99.9999 %+v", p99, p6n)
	}
	h := d.Histogram()
	if h.Count() != 100_000 || math.Abs(float64(h.Ranked(99_000)-*p99.ValueNs)) > 10 {
		t.Errorf("%d packets, p99 %d ns, want %d", h.Count(), h.Ranked(99_000), *p99.ValueNs)
	}
	full := Of(trialOf(1000*ms, packets, CPU{Name: "CPU 1", Missing: 1}))
	if u := full.Summary(nil, measured); u.Refused == "" || len(u.Percentiles) != 0 || u.HoldTo != 0 || full.Histogram() != nil {
		t.Errorf("refused: %+v", u)
	}
}
