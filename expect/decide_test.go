package expect

import "testing"

func TestDecide(t *testing.T) {
	of := func(low, high float64) Interval { return Interval{(low + high) / 2, &low, &high} }
	low := 3.0
	above := Interval{Value: 5, Low: &low} // open above
	for _, c := range []struct {
		subject Interval
		o       Operator
		bound   Interval
		want    Decision
	}{
		{of(1, 2), Below, Exact(3), Holds},
		{of(1, 3), Below, Exact(3), Undecided},
		{of(1, 3), AtMost, Exact(3), Holds},
		{of(3, 4), Below, Exact(3), Violated},
		{of(3, 4), AtMost, Exact(3), Undecided},
		{of(4, 5), AtMost, Exact(3), Violated},
		{of(2, 4), Above, Exact(1), Holds},
		{of(2, 4), Above, Exact(3), Undecided},
		{of(2, 4), AtLeast, Exact(5), Violated},
		{above, Below, Exact(10), Undecided},
		{above, Below, Exact(2), Violated},
		{above, Above, Exact(2), Holds},
		{of(1, 2), Below, of(3, 4), Holds},
		{of(1, 3), Below, of(2, 4), Undecided},
		{of(5, 6), Below, of(3, 4), Violated},
		{Exact(0), Equal, Exact(0), Holds},
		{Exact(1), Equal, Exact(0), Violated},
	} {
		if got := Decide(c.subject, c.o, c.bound); got != c.want {
			t.Errorf("%+v %s %+v: %s, want %s", c.subject, c.o, c.bound, got, c.want)
		}
	}
}

func TestTheWorstDecisionCounts(t *testing.T) {
	for _, c := range [][3]Decision{
		{Holds, Holds, Holds}, {Holds, Undecided, Undecided}, {Undecided, Violated, Violated}, {Violated, Holds, Violated}, {Undecided, Holds, Undecided},
	} {
		if got := c[0].Worse(c[1]); got != c[2] {
			t.Errorf("%s and %s: %s", c[0], c[1], got)
		}
	}
}
