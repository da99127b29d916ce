package report

import (
	"testing"

	"nines.dev/nines/result"
)

// rates are trials at rates of 1000, 2000, … packets/s, twice each, with so many lost packets; −1 is an invalid trial.
func rates(lost ...int) (trials []result.Trial) {
	for i, n := range lost {
		for repeat := range 2 {
			one := trial("0001", "", float64(i+1)*1000, repeat+1, 5000, 9000, -1, 9000)
			one.Variables = map[string]any{rateVariable: float64(i+1) * 1000}
			if n < 0 {
				one.Verdict = result.Invalid
			} else {
				one.LostPackets = uint64(n * repeat)
			}
			trials = append(trials, one)
		}
	}
	return trials
}

func TestUpToWhichRateNothingIsLost(t *testing.T) {
	for want, trials := range map[string][]result.Trial{
		"no packet was lost up to 3,000 packets/s, the highest rate.":                                            rates(0, 0, 0),
		"no packet was lost up to 2,000 packets/s; at 3,000 packets/s packets were lost in 1 of 2 valid trials.": rates(0, 0, 5),
		"no packet was lost up to 1,000 packets/s; at 2,000 packets/s packets were lost in 1 of 2 valid trials.": rates(0, 5, 0),
		"no packet was lost up to 1,000 packets/s; at 2,000 packets/s all trials are invalid.":                   rates(0, -1, 0),
		"at 1,000 packets/s, the lowest rate, packets were lost in 1 of 2 valid trials.":                         rates(1, 0),
		"": rates(0),
	} {
		got := ""
		if answer := Answer(result.Summary{Trials: trials}); len(answer) > 0 {
			got = answer[0]
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if once := append(rates(0, 0)[:1], rates(0, 0)[2]); lossless(once) != "" {
		t.Error("a single trial tells enough")
	}
}
