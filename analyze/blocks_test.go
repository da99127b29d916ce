package analyze

import (
	"context"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// Of a pair of captures, the blocks have the latencies of the packets by the time of sending, and add up to the trial.
func TestBlocksAddUpToThePair(t *testing.T) {
	pre, post, _ := writePair(t, network(1, 20000), plainPcap, ".pcap")
	a := analyze(t, Options{Pre: pre, Post: post, Key: Content})
	r, err := a.record(context.Background(), &a.Direction)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.stream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.free()
	span := s.sentNs[len(s.sentNs)-1] - s.sentNs[0]
	if want := int(min(span/1e6, 100)); r.Blocks == nil || len(r.Blocks.Counts) != want || r.Blocks.Length != time.Duration(span/int64(want)) {
		t.Fatalf("%+v of %v, want %d blocks", r.Blocks, time.Duration(span), want)
	}
	counts, want := make([]uint64, len(r.Blocks.Counts)), make([]uint64, len(r.Blocks.Counts))
	buckets := map[int64]uint64{}
	for i, block := range r.Blocks.Counts {
		counts[i] = block.Count()
		for bucket := range block.Buckets() {
			buckets[bucket.LowNs] += bucket.Count
		}
	}
	for i, sent := range s.sentNs {
		if s.receivedNs[i] != lost {
			want[min((sent-s.sentNs[0])/int64(r.Blocks.Length), int64(len(want))-1)]++
		}
	}
	for i := range want {
		if counts[i] != want[i] {
			t.Errorf("block %d has %d packets, want %d", i, counts[i], want[i])
		}
	}
	for bucket := range r.Histograms.Latency.Packed().Buckets() {
		if buckets[bucket.LowNs] != bucket.Count {
			t.Errorf("from %d ns on, the blocks have %d packets, the trial %d", bucket.LowNs, buckets[bucket.LowNs], bucket.Count)
		}
	}
}

// A pair of a millisecond has none, and strange times do no harm.
func TestFewBlocks(t *testing.T) {
	for _, c := range []struct {
		sent []int64
		want int
	}{
		{[]int64{5}, 0}, {[]int64{0, 1_999_999}, 0}, {[]int64{0, 2_000_000}, 2}, {[]int64{0, 1_500_000, 500_000, 2_000_000}, 2}, {[]int64{0, 1 << 60}, 100}, {[]int64{7, 5}, 0},
	} {
		s := stream{sentNs: c.sent}
		for _, sent := range c.sent {
			s.receivedNs = append(s.receivedNs, sent+3)
		}
		blocks, err := s.blocks()
		if err != nil {
			t.Fatal(err)
		}
		var list []*result.Packed
		if blocks != nil {
			list = blocks.Counts
		}
		total := uint64(0)
		for _, block := range list {
			total += block.Count()
		}
		if len(list) != c.want || c.want > 0 && total != uint64(len(c.sent)) {
			t.Errorf("%v: %d blocks with %d packets", c.sent, len(list), total)
		}
	}
}
