package figure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
)

// recordedPackets is a trial whose packets left every 10 µs, and arrived two at a time; the last
// was lost, and an earlier one overtook another.
func recordedPackets() result.Record {
	const every = 10_000
	r := record(nil, 1, 100_000, 4000, 1)
	received := []int64{21_000, 22_000, 41_000, 43_000, 42_000}
	r.Packets = &result.Packets{Complete: true, Batches: func(write func([]result.Packet) error) error {
		var rows []result.Packet
		for i := range len(received) + 1 {
			p := result.Packet{ID: uint32(i), IntendedNs: int64(i) * every, TxNs: int64(i) * every}
			if i < len(received) {
				latency := received[i] - p.IntendedNs
				p.RxNs, p.LatencyNs = &received[i], &latency
			}
			rows = append(rows, p)
		}
		return write(rows)
	}}
	return r
}

// Intervals are those between sends, and between arrivals in any order.
func TestIntervals(t *testing.T) {
	f := mustMake(t, Options{Kind: Intervals}, made{name: "intervals", records: []result.Record{recordedPackets()}}.open(t))
	counts := map[string]map[float64]float64{}
	for _, s := range f.Series {
		counts[s.Label] = map[float64]float64{}
		for i, p := range s.Points {
			if p.Y > floor && (i+1 == len(s.Points) || s.Points[i+1].X != p.X) {
				counts[s.Label][p.X] = p.Y
			}
		}
	}
	want := map[string]map[float64]float64{"sent": {10: 5}, "received": {1: 3, 19: 1}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("packets by interval in µs (-want +got):\n%s", diff)
	}
	if f.X.Max != 40 || f.X.Title != "time since the packet before (µs)" {
		t.Errorf("the axis %q ends at %v, not at four times the median", f.X.Title, f.X.Max)
	}
}

func TestIntervalsNeedPackets(t *testing.T) {
	_, err := Of([]Input{sweep().open(t)}, Options{Kind: Intervals})
	if err == nil {
		t.Fatal("a result without recorded packets is drawn")
	}
}
