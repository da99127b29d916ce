package analyze

import (
	"testing"
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
