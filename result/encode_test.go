package result

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The encoding is that of the library, also where one compressor makes several.
func TestEncodeIsTheLibrarys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	lists := [][]int64{{}, {0}, {1}, {0, 1, 3, 2047, 2048}, {HighestNs}, {5, 5, 5, 7, 4096, 4097, 1 << 35}}
	for n := range 40 {
		var values []int64
		for range n * n {
			values = append(values, int64(math.Exp(24*random.Float64())))
		}
		lists = append(lists, values)
	}
	for i, values := range lists {
		p := newPacked()
		for _, v := range values {
			if err := p.counts.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		sameEncoding(t, i, p)
	}
	for bits := range 63 { // counts of each length
		p := newPacked()
		if err := p.counts.RecordValues(3000, 1<<bits); err != nil {
			t.Fatal(err)
		}
		sameEncoding(t, bits, p)
	}
}

func sameEncoding(t *testing.T, i int, p *Packed) {
	t.Helper()
	want, err := p.counts.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Encode(); err != nil || got != string(want) {
		t.Errorf("%d: %v, and %s is not %s", i, err, got, want)
	}
	if _, err := hdrhistogram.DecodePacked(want); err != nil {
		t.Error(i, err)
	}
}

func TestIndexOfIsThatOfItsBucket(t *testing.T) {
	for index := range int64(countsLength) {
		if got := IndexOf(lowestAt(index)); got != index {
			t.Fatalf("%d is at %d", index, got)
		}
	}
}
