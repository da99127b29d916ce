package traffic

import (
	"testing"
	"time"

	"nines.dev/nines/engine/client"
)

func TestTheTimeOfDayOfAnEnginesClock(t *testing.T) {
	known := moment{monotonicNs: 1_000, day: time.Unix(1_700_000_000, 0)}
	for ns, want := range map[int64]int64{1_000: 0, 600_001_000: 600_000_000, 0: -1_000} {
		if got := known.dayOf(ns); got.UnixNano() != 1_700_000_000e9+want {
			t.Errorf("at %d: %v", ns, got)
		}
	}
	if !(moment{}).dayOf(5).IsZero() {
		t.Error("an unknown moment has a time of day")
	}
}

// A guest's clock counts from its own boot, so only what its engine says leads to a time of day.
func TestAGuestHasAClockOfItsOwn(t *testing.T) {
	before, err := readMoment()
	if err != nil {
		t.Fatal(err)
	}
	here, guest := momentOf(client.Started{NowNs: 77}, false), momentOf(client.Started{NowNs: 77}, true)
	if here.monotonicNs < before.monotonicNs {
		t.Errorf("the host's clock is at %d, and was at %d", here.monotonicNs, before.monotonicNs)
	}
	if guest.monotonicNs != 77 || guest.day.IsZero() {
		t.Errorf("%+v", guest)
	}
}
