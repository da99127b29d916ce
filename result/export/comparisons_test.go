package export

import (
	"strings"
	"testing"

	"nines.dev/nines/result"
)

func TestComparisons(t *testing.T) {
	a, b := 1500.0, 2000.5
	trials := []result.Trial{
		{ID: "0001", Variables: map[string]any{"traffic.rate_pps": 1000.0}, Duet: &result.Duet{
			Sides: []result.DuetSide{{Name: "a", Label: "veth"}, {Name: "b", Label: "bridge"}}, TrafficNs: 3e9,
			Comparisons: []result.DuetComparison{
				{Quantity: "p50", Asked: true, A: &a, B: &b, Difference: &result.Bounded{Value: 500.5, Low: 490, High: 510}, Ratio: &result.Bounded{Value: 1.3336, Low: 1.3, High: 1.35}, Decision: result.ALower},
				{Quantity: "undisturbed p99", Decision: result.Undecided, Why: "too few, yet"},
			}}},
		{ID: "0002", Variables: map[string]any{"traffic.rate_pps": 2000.0}},
	}
	var out strings.Builder
	if err := WriteComparisons(&out, trials); err != nil {
		t.Fatal(err)
	}
	const want = `id,traffic.rate_pps,side_a,side_b,quantity,asked,decision,a,b,difference,difference_low,difference_high,ratio,ratio_low,ratio_high,traffic_ns,why,remains
0001,1000,veth,bridge,p50,true,a_lower,1500,2000.5,500.5,490,510,1.3336,1.3,1.35,3000000000,,
0001,1000,veth,bridge,undisturbed p99,false,undecided,,,,,,,,,3000000000,"too few, yet",
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	if err := WriteComparisons(&out, trials[1:]); err == nil || !strings.Contains(err.Error(), "nines duet") {
		t.Errorf("without a duet: %v", err)
	}
}
