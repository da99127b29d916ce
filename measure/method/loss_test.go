package method_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/spec"
)

// TestALimitIsKeptByWhatIsExactlyAtIt: for every limit with three decimals and every number of
// packets, against the same in whole packets.
func TestALimitIsKeptByWhatIsExactlyAtIt(t *testing.T) {
	for thousandths := range uint64(1001) {
		limit, err := strconv.ParseFloat(fmt.Sprintf("0.%03d", thousandths), 64)
		if err != nil {
			t.Fatal(err)
		}
		if thousandths == 1000 {
			limit = 1
		}
		for _, intended := range []uint64{1, 3, 7, 10, 99, 200, 999, 1000, 1007, 3_000_000, 999_999_937, 1e15, 1<<64 - 1000} {
			most := intended/1000*thousandths + intended%1000*thousandths/1000
			for _, lost := range []uint64{0, most, min(most+1, intended), intended} {
				o := method.Outcome{Intended: intended, Received: intended - lost}
				if o.LosesAtMost(limit) != (lost <= most) {
					t.Errorf("%d of %d packets lost, and at most %g may be: %v", lost, intended, limit, o.LosesAtMost(limit))
				}
			}
		}
	}
}

func TestLossIsCountedAgainstTheIntended(t *testing.T) {
	for _, test := range []struct {
		intended, received, lost uint64
		ratio                    float64
	}{
		{1000, 995, 5, 0.005}, {1000, 1000, 0, 0}, {1000, 0, 1000, 1}, {10, 12, 0, 0}, {0, 0, 0, 0}, {3, 2, 1, 1. / 3},
	} {
		o := method.Outcome{Intended: test.intended, Received: test.received}
		if o.Lost() != test.lost || o.LossRatio() != test.ratio {
			t.Errorf("%d of %d: lost %d, %v", test.received, test.intended, o.Lost(), o.LossRatio())
		}
	}
}

// atTheLimit is a network that loses 0.5 % of the packets at any rate, as short stalls make it do.
func atTheLimit(_ context.Context, load method.Load) (method.Outcome, error) {
	intended := uint64(load.RatePPS*load.Duration.Seconds()) / 200 * 200
	return method.Outcome{ID: "0001", Intended: intended, Received: intended - intended/200, Elapsed: load.Duration}, nil
}

// A network that loses exactly what a goal allows reaches it at every rate.
func TestAGoalIsReachedAtItsLimit(t *testing.T) {
	run, err := method.New(spec.Method{Kind: spec.MethodMLRsearch, MinRatePPS: 1000, MaxRatePPS: 1e6, Goals: []*spec.Goal{{Name: "pdr"}}}, method.Setting{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := run(context.Background(), atTheLimit)
	if err != nil {
		t.Fatal(err)
	}
	if f := finding(t, found, "PDR"); number(f.Low) != 1e6 || number(f.Value) != 995_000 || f.High != nil {
		t.Errorf("the PDR is %g, from %g to %g (%s)", number(f.Value), number(f.Low), number(f.High), f.Reason)
	}
}

// And so does a service, in each of its tests.
func TestAServiceKeepsALimitThatItIsAt(t *testing.T) {
	limit := 0.005
	m := spec.Method{
		Kind: spec.MethodY1564, CommittedPPS: 1e5, Soak: spec.Duration(15 * time.Minute), Trial: spec.Duration(10 * time.Second),
		Limits: &spec.Limits{LossRatio: &limit},
	}
	run, err := method.New(m, method.Setting{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := run(context.Background(), atTheLimit)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Findings {
		if f.Name == "loss" && (f.Passed == nil || !*f.Passed || number(f.Value) != limit) {
			t.Errorf("a loss of %v, %+v", number(f.Value), f)
		}
	}
	if found.Passed == nil || !*found.Passed {
		t.Error("the service does not pass")
	}
}
