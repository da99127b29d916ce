package interruption

import (
	"reflect"
	"testing"
	"time"

	"nines.dev/nines/result"
)

func TestAListHasWhatTheResultHas(t *testing.T) {
	summary := &result.Interruptions{
		Witnesses: []result.Witness{{Thread: "sink", Node: "a", CPU: 1, Count: 2, TotalNs: 90_000, ThresholdNs: 5000, UnlistedNs: 7000, Overflow: 3}},
		Unseen:    []string{"guest: a virtual machine"},
	}
	rows := []result.Interruption{
		{Thread: "sink", Node: "a", CPU: 1, Kind: "turn 0", BeginNs: -20_000, LengthNs: 40_000},
		{Thread: "sink", Node: "a", CPU: 1, Kind: "turn 1", BeginNs: 1_000_000, LengthNs: 50_000},
	}
	want := List{
		Witnesses: []Witness{{Thread: "sink", CPU: 1, Threshold: 5 * time.Microsecond, Unlisted: 7 * time.Microsecond, Overflow: 3}},
		Interruptions: []Interruption{
			{Thread: "sink", CPU: 1, Begin: -20 * time.Microsecond, Length: 40 * time.Microsecond},
			{Thread: "sink", CPU: 1, Begin: time.Millisecond, Length: 50 * time.Microsecond},
		},
		Unseen: []string{"guest: a virtual machine"},
	}
	if got := Of(summary, rows); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNothingIsKnownOfResultsOfBefore(t *testing.T) {
	if got := Of(nil, nil); !reflect.DeepEqual(got, List{}) {
		t.Errorf("%+v", got)
	}
}
