package main

import (
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// TestNoValidTrial: a run fails of which no trial is valid, whether packets arrived or not.
func TestNoValidTrial(t *testing.T) {
	none := result.Trial{Verdict: result.Invalid, Reasons: []string{"no packet arrived: the interface is down"}}
	some := result.Trial{Verdict: result.Invalid, RxPackets: 1, Reasons: []string{"offered 1 of 3 intended packets"}}
	alone, noisy := result.Trial{Verdict: result.Unmeasured}, result.Trial{Verdict: result.Noisy}
	for _, trials := range [][]result.Trial{nil, {none, alone}, {alone}, {some, noisy}} {
		if err := noValidTrial(trials); err != nil {
			t.Errorf("%+v: %v", trials, err)
		}
	}
	for want, trials := range map[string][]result.Trial{
		"nothing was measured: no packet arrived: the interface is down":                      {none, none},
		"no trial is valid, so no figure above is an answer: offered 1 of 3 intended packets": {some, none},
	} {
		if err := noValidTrial(trials); exit.Code(err) != exit.Failed || !strings.HasSuffix(err.Error(), want) {
			t.Error(err)
		}
	}
}
