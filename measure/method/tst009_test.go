package method_test

import (
	"context"
	"testing"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/spec"
)

// TestALossyRateIsRetriedAsOftenAsAsked: none asked for is not the same as not said, and neither is a
// loss of 0 above which a rate is not tried again.
func TestALossyRateIsRetriedAsOftenAsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		retries *int
		loss    *float64
		want    int // trials of each lossy rate
	}{
		"not said":      {nil, nil, 2},
		"none":          {new(0), nil, 1},
		"three":         {new(3), nil, 4},
		"no loss":       {new(3), new(0.0), 1},
		"a higher loss": {new(3), new(0.9), 4},
	} {
		run, err := method.New(spec.Method{Kind: spec.MethodTST009, Retries: test.retries, LossRatio: test.loss, Loads: none}, hostileSetting)
		if err != nil {
			t.Fatal(err)
		}
		trials, lossy := map[float64]int{}, map[float64]bool{}
		if _, err := run(t.Context(), func(_ context.Context, load method.Load) (method.Outcome, error) {
			o := method.Outcome{ID: "x", Intended: 1000, Received: 1000}
			if load.RatePPS > 500_000 {
				o.Received, lossy[load.RatePPS] = 900, true
			}
			trials[load.RatePPS]++
			return o, nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(lossy) == 0 {
			t.Errorf("%s: no rate lost packets", name)
		}
		for rate, n := range trials {
			if want := map[bool]int{true: test.want, false: 1}[lossy[rate]]; n != want {
				t.Errorf("%s: %d trials of %g packets/s, want %d", name, n, rate, want)
			}
		}
	}
}
