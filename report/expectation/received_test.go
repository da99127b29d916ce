package expectation

import (
	"testing"

	"nines.dev/nines/result"
)

// rated are trials of a kind that were received at these rates.
func (m *made) rated(kind string, verdict result.Verdict, rates ...float64) {
	m.trials(kind, len(rates), 40, m.steady)
	all := m.result.Summary.Trials
	for i, rate := range rates {
		all[len(all)-len(rates)+i].OfferedPPS, all[len(all)-len(rates)+i].Verdict = rate, verdict
	}
}

// TestReceived: of a noisy trial whose time is not known to be all its own, only the lower end is known.
func TestReceived(t *testing.T) {
	m := newMade(7)
	m.rated("memif", result.Noisy, 5.2e6, 5.4e6, 5.3e6)
	m.rated("veth", result.Clean, 1.0e6, 1.1e6, 0.9e6)
	j := m.judge(t,
		"received >= 5Mpps where kind=memif", "received >= 6Mpps where kind=memif", "received < 6Mpps where kind=memif", "received < 5Mpps where kind=memif",
		"received >= 800kpps where kind=veth", "received >= 2Mpps where kind=veth", "received < 2Mpps where kind=veth", "received >= 1Mpps where kind=veth",
		"received(kind=memif) > 2 * received(kind=veth)")
	want := "holds undecided undecided violated holds violated holds undecided undecided"
	if got := decisions(j); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFewDisturbedTrialsOfMany: of twelve trials two that the host disturbed do not decide about the median.
func TestFewDisturbedTrialsOfMany(t *testing.T) {
	m := newMade(7)
	m.rated("memif", result.Clean, 2e6, 5.1e6, 5.2e6, 5.3e6, 5.4e6, 5.5e6, 5.6e6, 5.7e6, 5.8e6, 5.9e6, 1e6, 5.15e6)
	m.rated("veth", result.Clean, 2e6, 5.1e6, 5.2e6, 5.3e6, 5.4e6, 5.5e6, 5.6e6, 5.7e6, 5.8e6, 1e6, 1.1e6, 5.15e6)
	j := m.judge(t, "received >= 5Mpps where kind=memif", "received >= 5Mpps where kind=veth")
	if got := decisions(j); got != "holds undecided" {
		t.Errorf("%s: two of twelve may be below the limit, not three", got)
	}
}

// TestRatioOfRates: what the host took of the time of one side makes the ratio's interval wider on that side alone.
func TestRatioOfRates(t *testing.T) {
	same := []float64{1e6, 1e6, 1e6, 1e6, 1e6, 1e6}
	taken := []float64{2e6, 2e6, 2e6, 2e6, 2e6, 2e6}
	for _, c := range []struct {
		quiet     [2][]float64
		low, high float64
	}{
		{[2][]float64{same, same}, 1, 1},
		{[2][]float64{taken, same}, 1, 2},
		{[2][]float64{same, taken}, 0.5, 1},
	} {
		if i := ratioOf([2][]float64{same, same}, c.quiet); i.Median != 1 || *i.Low != c.low || *i.High != c.high {
			t.Errorf("%v: %g (%g to %g), want %g to %g", c.quiet, i.Median, *i.Low, *i.High, c.low, c.high)
		}
	}
}

func TestTakenShare(t *testing.T) {
	gaps := []result.GapMeter{{TotalNs: 10}, {TotalNs: 20}}
	for _, c := range []struct {
		details result.Details
		want    float64
	}{
		{result.Details{}, 0},
		{result.Details{Gaps: gaps, WaitedNs: 25, DurationNs: 100}, 0.3},
		{result.Details{Gaps: gaps, WaitedNs: 25, StealNs: 15, DurationNs: 100}, 0.4},
		{result.Details{Gaps: gaps, Programs: []result.ProgramDelay{{RunDelayNs: 30}}, DurationNs: 100, ElapsedNs: 200}, 0.3},
		{result.Details{WaitedNs: 300, DurationNs: 100}, mostTaken},
	} {
		if got := takenShare(c.details); got != c.want {
			t.Errorf("%+v: %g, want %g", c.details, got, c.want)
		}
	}
}
