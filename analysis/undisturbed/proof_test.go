package undisturbed

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"nines.dev/nines/test/labtest"
)

// answer is what a distribution says of a simulated trial, over the truth.
type answer struct {
	simulated
	refused string
	// values are over the truth, NaN if open; held tells of each whether its interval holds the truth.
	values [2]float64
	held   [2]bool
}

func (a answer) right(percentile int) bool { return math.Abs(a.values[percentile]-1) <= 0.1 }

// TestUndisturbedIsThatOfAQuietHost: of 1,000 simulated trials (100 in the ordinary form), at least 95 % of the p99 and
// p99.9 that are not open are within 10 % of those without interruptions; of the trials whose interruptions are caused
// by the traffic, 95 % are refused or right. An interruption is listed from 5 to 40 µs on.
func TestUndisturbedIsThatOfAQuietHost(t *testing.T) {
	cases := 100
	if labtest.Long() {
		cases = 1000
	}
	prove(t, cases, false)
}

// TestInterruptionsThatPacketsShow: 95 % of 300 trials (30) are right where an interruption is seen from when a packet
// waits. Whether the traffic causes such interruptions can hardly be told: it is assumed that it does not.
func TestInterruptionsThatPacketsShow(t *testing.T) {
	cases := 30
	if labtest.Long() {
		cases = 300
	}
	prove(t, cases, true)
}

func prove(t *testing.T, cases int, byPacket bool) {
	t.Helper()
	ps := []float64{0.99, 0.999}
	answers := answersTo(cases, byPacket, ps)
	for _, driven := range []bool{false, true} {
		trials, refused := 0, 0
		for _, a := range answers {
			if a.kind.driven == driven {
				trials++
				if a.refused != "" {
					refused++
				}
			}
		}
		t.Logf("driven by traffic %v: %d of %d refused", driven, refused, trials)
		for j, p := range ps {
			var accepted, right, held int
			for i, a := range answers {
				if a.kind.driven != driven || a.refused != "" || math.IsNaN(a.values[j]) {
					continue
				}
				accepted++
				if a.held[j] {
					held++
				}
				if a.right(j) {
					right++
				} else {
					t.Logf("case %d, p%g is %.2f of the truth: traffic %s, interruptions %s, %.2g %% of the time, %.0f µs each", i, 100*p, a.values[j],
						a.traffic.name, a.kind.name, 100*a.share, a.meanUs)
				}
			}
			t.Logf("p%g: %d of %d that are not open are right; %d of the intervals hold the truth", 100*p, right, accepted, held)
			wrong := accepted - right
			of := map[bool]int{false: accepted, true: trials}[driven]
			if float64(wrong) > 0.05*float64(of) && !(driven && byPacket) {
				t.Errorf("driven by traffic %v, p%g: %d of %d are wrong", driven, 100*p, wrong, of)
			}
			if !driven && accepted < trials/2 {
				t.Errorf("p%g: only %d of %d are answered", 100*p, accepted, trials)
			}
		}
	}
}

// answersTo computes the cases on all CPUs.
func answersTo(cases int, byPacket bool, ps []float64) []answer {
	truths := map[string][]float64{}
	for _, kind := range traffics() {
		truths[kind.name] = truth(kind, ps)
	}
	answers := make([]answer, cases)
	var running sync.WaitGroup
	for first := range runtime.NumCPU() {
		running.Go(func() {
			for i := first; i < cases; i += runtime.NumCPU() {
				answers[i] = answerTo(simulate(i, byPacket), ps, truths)
			}
		})
	}
	running.Wait()
	return answers
}

func answerTo(c simulated, ps []float64, truths map[string][]float64) answer {
	d := Of(c.trial)
	if unshown := d.Refused == "" && len(d.Assumed) == 0; byPacketIn(c.trial) && unshown {
		panic("nothing tells that the traffic may have caused the interruptions")
	}
	a := answer{simulated: c, refused: d.Refused}
	for j, p := range ps {
		a.values[j] = math.NaN()
		if d.Refused != "" {
			continue
		}
		if got := d.Percentile(p); got.Open == "" {
			truth := truths[c.traffic.name][j]
			a.values[j] = got.Value / truth
			a.held[j] = *got.Low <= truth && (got.High == nil || *got.High >= truth)
		}
	}
	return a
}

func byPacketIn(t Trial) bool {
	return slices.ContainsFunc(t.CPUs, func(cpu CPU) bool { return len(cpu.Interruptions) > 0 && cpu.Interruptions[0].ByPacket })
}
