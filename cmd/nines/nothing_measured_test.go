package main

import (
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// TestNothingMeasured: a run without a packet fails; one that the host disturbed, or that lost some, does not.
func TestNothingMeasured(t *testing.T) {
	none := result.Trial{Verdict: result.Invalid, Reasons: []string{"no packet arrived: the interface is down"}}
	some := result.Trial{Verdict: result.Invalid, RxPackets: 1}
	alone := result.Trial{Verdict: result.Unmeasured}
	for _, trials := range [][]result.Trial{nil, {some}, {none, some}, {none, alone}, {alone}} {
		if err := nothingMeasured(trials); err != nil {
			t.Errorf("%+v: %v", trials, err)
		}
	}
	err := nothingMeasured([]result.Trial{none, none})
	if exit.Code(err) != exit.Failed || !strings.HasSuffix(err.Error(), "nothing was measured: no packet arrived: the interface is down") {
		t.Error(err)
	}
}
