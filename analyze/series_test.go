package analyze

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

func TestSeriesCountsEachPacketInItsInterval(t *testing.T) {
	const packets, gap = 10_000, 1_000_000 // 10 s
	s := &stream{}
	for i := range int64(packets) {
		sent, received := 7+i*gap, int64(lost)
		if i%10 != 3 {
			received = sent + 500 + i%7
		}
		if i == 4242 {
			received = sent + 90_000
		}
		s.sentNs, s.receivedNs = append(s.sentNs, sent), append(s.receivedNs, received)
	}
	got := series(s)
	if got.StepNs != 50e6 || len(got.Sent) != 200 { // 10 s in steps of 20 ms would be 500
		t.Fatalf("%d intervals of %d ns", len(got.Sent), got.StepNs)
	}
	for at := range got.Sent {
		most := int64(506)
		if at == 4242/50 {
			most = 90_000
		}
		if got.Sent[at] != 50 || got.Lost[at] != 5 || *got.LeastNs[at] != 500 || *got.P50Ns[at] != 503 || *got.MostNs[at] != most || got.P99Ns[at] != nil {
			t.Fatalf("interval %d: %d sent, %d lost, least %d, p50 %d, most %d, p99 %v", at, got.Sent[at], got.Lost[at], *got.LeastNs[at], *got.P50Ns[at], *got.MostNs[at], got.P99Ns[at])
		}
	}
}

func TestSeriesOfLittle(t *testing.T) {
	one := series(&stream{sentNs: []int64{5}, receivedNs: []int64{9}})
	if len(one.Sent) != 1 || one.Sent[0] != 1 || *one.LeastNs[0] != 4 || one.P50Ns[0] != nil {
		t.Errorf("one packet: %+v", one)
	}
	none := series(&stream{sentNs: []int64{0, 1e18}, receivedNs: []int64{lost, lost}})
	sum := func(list []uint64) (n uint64) {
		for _, v := range list {
			n += v
		}
		return n
	}
	if len(none.Sent) > seriesIntervals || sum(none.Sent) != 2 || sum(none.Lost) != 2 || none.MostNs[0] != nil {
		t.Errorf("two lost, 31 years apart: %d intervals, %d sent, %d lost", len(none.Sent), sum(none.Sent), sum(none.Lost))
	}
}

// TestFollowClock has a second clock that is steered: it wanders by ± 20 µs. The verdict says so, and once it is taken
// off, the percentiles are those of a straight clock.
func TestFollowClock(t *testing.T) {
	var straight, wandering points
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		at := int64(i) * 50_000
		p := packet{from: "10.0.0.1:9", to: "10.0.1.1:9", payload: binary.BigEndian.AppendUint32(make([]byte, 8), uint32(i))}
		latency := 30_000 + int64(random.ExpFloat64()*2000)
		moved := int64(20_000 * math.Sin(2*math.Pi*float64(at)/4e8))
		straight.ahead(at, latency, p.frame())
		wandering.ahead(at, latency+moved, p.frame())
	}
	want := analyze(t, straight.write(t, plainPcap)).Summary()
	o := wandering.write(t, plainPcap)
	off := analyze(t, o).Summary()
	if said := strings.Join(off.Reasons, "\n"); want.Verdict != result.Clean || off.Verdict != result.Noisy || !strings.Contains(said, "the minimum latency wanders by") || strings.Contains(said, "clock was set") {
		t.Errorf("straight: %s; wandering: %s: %s", want.Verdict, off.Verdict, said)
	}
	o.FollowClock = true
	a := analyze(t, o)
	got := a.Summary()
	if records, err := a.Records(t.Context()); err != nil || len(records) != 1 || len(records[0].Pair.Slowest) != slowestShown || records[0].Pair.Slowest[0].PostFrame == 0 || len(records[0].Pair.Series.ClockNs) > 0 {
		t.Errorf("followed: %+v, %v", records, err)
	}
	if got.Verdict != result.Clean || !strings.Contains(strings.Join(got.Notes, "\n"), "was taken off the arrivals") {
		t.Errorf("followed: %s: %v; %v", got.Verdict, got.Reasons, got.Notes)
	}
	for _, name := range []string{"p50", "p99"} {
		w, g := *want.Latency.Figure(name), *got.Latency.Figure(name)
		if d := g - w; d < -w/50 || d > w/50 {
			t.Errorf("%s is %d, want %d", name, g, w)
		}
	}
	if o.FollowClock = false; off.Latency.P99 != nil && *off.Latency.P99 < *want.Latency.P99*5/4 {
		t.Errorf("the test is no test: %d with the clock's movement, %d without", *off.Latency.P99, *want.Latency.P99)
	}
	records, err := analyze(t, o).Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	least, most := int64(0), int64(0)
	for _, ns := range records[0].Pair.Series.ClockNs {
		least, most = min(least, *ns), max(most, *ns)
	}
	if least > -18_000 || most < 18_000 {
		t.Errorf("the clock moves from %d to %d", least, most)
	}
}
