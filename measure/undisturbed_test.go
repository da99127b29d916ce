package measure

import (
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

func TestWhatIsMissingOfThePacketsTimes(t *testing.T) {
	for _, c := range []struct {
		counts client.ArrivalCounts
		want   string
	}{
		{client.ArrivalCounts{Rows: 10, OneIn: 1, Lost: 3}, ""},
		{client.ArrivalCounts{OneIn: 4}, "only 1 in 4"},
		{client.ArrivalCounts{OneIn: 1, Missed: 2, LostMissed: 3}, "of 5 packets"},
		{client.ArrivalCounts{OneIn: 1, Saturated: 1}, "longer than 4 s"},
	} {
		if got := untold(c.counts); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.counts, got, c.want)
		}
	}
}

// checkUndisturbed: at least the packets of three tenths of the time were touched. Whether the rest tells something
// depends on what else runs on this host.
func checkUndisturbed(t *testing.T, trial result.Trial) {
	t.Helper()
	u := trial.Undisturbed
	if u == nil || u.Share > 0.72 || (u.Refused == "") != (len(u.Percentiles) > 0) || u.Packets > trial.RxPackets {
		t.Errorf("undisturbed: %+v", u)
	}
}
