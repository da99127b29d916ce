package measure

import (
	"fmt"
	"math"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestLabNetemsDistributionIsFound measures links of the kernel that netem impairs, and finds the
// distribution, as TestKnownDistributionsAreFound does with nines' own. netem tells no packet's
// fate, so the delays are far longer than what the host may add. A translated machine that gets no CPU
// for half a second adds as much, so a kind has three trials: a wrong distribution is found in each.
func TestLabNetemsDistributionIsFound(t *testing.T) {
	labtest.LongForm(t)
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	// netem takes 32 random bits modulo twice the jitter (tabledist in net/sched/sch_netem.c), which
	// is even only where that nearly divides 2^32 ns, as here.
	is := spec.Impairment{Delay: ms(600), Jitter: spec.Duration(536870 * time.Microsecond), Distribution: spec.DistributionUniform}
	const network = `
topology:
  nodes: {a: {}, b: {}}
  links:
    - {name: wire, kind: %s, endpoints: ["a:eth", "b:eth"], impair_from: {"a:eth": {delay: 600ms, jitter: 536870us, loss: 0.2}}}
traffic: {from: "a:eth", to: "b:eth", rate_pps: 200, duration: 5s, warmup: 0s, drain: 10s, outliers: 10, packets: record}
`
	for _, kind := range []string{"veth", "bridge", "macvlan", "vxlan"} {
		t.Run(kind, func(t *testing.T) {
			const trials = 3
			for try := 1; !netemIsFound(t, is, fmt.Sprintf(network, kind), try == trials); try++ {
				t.Logf("trial %d is not counted", try)
			}
		})
	}
}

// netemIsFound runs a trial. It fails the test for what no host can cause; for latencies that are far from the
// distribution only in the last trial.
func netemIsFound(t *testing.T, is spec.Impairment, network string, last bool) bool {
	t.Helper()
	experiment, writer := prepare(t, "netem", network)
	done := finish(t, experiment, writer)
	trial := done.Summary.Trials[0]
	folder := done.TrialFolder(trial.ID)
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	if len(details.Impairments) != 1 || details.Impairments[0].By != "netem" || details.Impairments[0].Seed != -1 {
		t.Errorf("the record says of the impairment: %+v", details.Impairments)
	}
	var sample []float64
	_, err = folder.Packets(func(rows []result.Packet) error {
		for _, p := range rows {
			if p.RxNs == nil {
				continue
			}
			took := float64(*p.RxNs - p.TxNs)
			// netem rounds to ticks of 64 ns, and the engine's clocks differ a little.
			if least := float64(is.Delay-is.Jitter) - 100e3; took < least {
				t.Errorf("packet %d took %.0f ns, less than the least delay", p.ID, took)
			}
			sample = append(sample, took)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// A packet that is 20 ms late is 2 % of the distribution's width away.
	const late = 20e6
	bound := 1.95/math.Sqrt(float64(len(sample))) + late/(2*float64(is.Jitter)) // one in a thousand is further away
	away := distance(sample, func(ns float64) float64 { return delayCDF(is, ns) })
	if away > bound && last {
		t.Errorf("the latencies are %.4f away from netem's distribution, more than %.4f", away, bound)
	}
	// Six standard deviations around a fifth.
	n := float64(trial.TxPackets)
	if off := math.Abs(float64(trial.LostPackets)/n - 0.2); off > 6*math.Sqrt(0.2*0.8/n) {
		t.Errorf("%d of %d packets were lost, and netem was to lose a fifth", trial.LostPackets, trial.TxPackets)
	}
	return away <= bound || last
}
