package trace

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestBucketsAreWithinThreePercent(t *testing.T) {
	for i := range bucketCount {
		if top := bucketTop(i); bucketOf(top) != i || bucketOf(top+1) != i+1 {
			t.Fatalf("bucket %d ends with %d, which is in %d, and the next in %d", i, top, bucketOf(top), bucketOf(top+1))
		}
	}
	for range 1000 {
		v := rand.Uint64N(1 << 36)
		if top := bucketTop(bucketOf(v)); top < v || float64(top-v) > 0.032*float64(v) {
			t.Fatalf("%d is counted as up to %d", v, top)
		}
	}
}

// rawDelay is a delay as a program counts it.
func rawDelay(device uint64, from, to uint32, values ...uint64) []byte {
	raw := make([]byte, delayBytes)
	le := binary.LittleEndian
	le.PutUint64(raw, device)
	le.PutUint32(raw[8:], from)
	le.PutUint32(raw[12:], to)
	for i, v := range values {
		le.PutUint64(raw[16:], le.Uint64(raw[16:])+1)
		le.PutUint64(raw[24:], le.Uint64(raw[24:])+v)
		if i == 0 || v < le.Uint64(raw[32:]) {
			le.PutUint64(raw[32:], v)
		}
		le.PutUint64(raw[40:], max(v, le.Uint64(raw[40:])))
		at := delayHead + 4*bucketOf(v)
		le.PutUint32(raw[at:], le.Uint32(raw[at:])+1)
	}
	return raw
}

func TestDelaysOfAllCPUsAreJoined(t *testing.T) {
	var first, second []uint64
	for i := range uint64(500) {
		first, second = append(first, 1000+i), append(second, 2000+i)
	}
	raw := append(rawDelay(5, 2, 3, first...), rawDelay(5, 2, 3, second...)...)
	raw = append(raw, make([]byte, delayBytes)...)
	raw = append(raw, rawDelay(9, 0, 1, 7)...)
	list := stageDelays(raw, &names{devices: map[uint64]string{5: "dut:in", 9: "gen:tx"}})
	if len(list) != 2 || list[0].Device != "dut:in" || list[0].From != "driver" || list[0].To != "stack" || list[1].From != "send" || list[1].To != "qdisc" {
		t.Fatalf("%+v", list)
	}
	d := list[0].Delay
	if d.Count != 1000 || *d.Min != 1000 || *d.Max != 2499 || *d.Mean != 1749.5 {
		t.Errorf("%+v", d)
	}
	if *d.P50 < 1499 || *d.P50 > 1550 || *d.P99 < 2489 || *d.P99 > 2499 || d.P9999 != nil {
		t.Errorf("p50 %d, p99 %d, p99.99 %v", *d.P50, *d.P99, d.P9999)
	}
}

func TestEveryAt(t *testing.T) {
	for pps, want := range map[float64]int{1000: 1, 20_000: 1, 25_000: 2, 49_999: 2, 100_000: 8, 112_500: 8, 1_000_000: 64, 0: 64} {
		if got := EveryAt(pps); got != want {
			t.Errorf("at %.0f pps one of %d, want %d", pps, got, want)
		}
	}
}

// bucketOf is the bucket of a value: bucket_of of bpf/stage.h.
func bucketOf(ns uint64) int {
	if ns < 1<<bucketBits {
		return int(ns)
	}
	exponent := bits.Len64(ns) - 1 - bucketBits
	return (exponent+1)<<bucketBits + int(ns>>exponent&(1<<bucketBits-1))
}
