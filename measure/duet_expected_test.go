package measure

import (
	"testing"
	"time"

	"nines.dev/nines/analysis/duet"
	"nines.dev/nines/analysis/undisturbed"
)

// TestADuetGoesOnUntilWhatIsExpectedIsDecided: a difference that is decided may still be on either side of an expectation's
// margin.
func TestADuetGoesOnUntilWhatIsExpectedIsDecided(t *testing.T) {
	asked := askedOf(3*time.Second, "p50")
	l := &looks{trial: duet.NewTrial(optionsOf(asked))}
	l.through(alternating(3*time.Second, 1.05), []undisturbed.CPU{{Name: "loop"}}, []int64{int64(3 * time.Second)})
	for text, want := range map[string]bool{
		"b.p50 <= 1.1 * a.p50":  true,
		"b.p50 <= 1.01 * a.p50": true,
		"b.p50 <= 1.05 * a.p50": false,
		"b.p50 <= a.p50":        true,
		"b.lost == 0":           true,
		"a.loss == 0":           true,
		"b.undisturbed.p50 <= 1.1 * a.undisturbed.p50": true,
	} {
		asked.Expect = []string{text}
		if got := expectedOf(asked, l.last.Answers, false); got != want {
			t.Errorf("%s: decided is %v", text, got)
		}
	}
}
