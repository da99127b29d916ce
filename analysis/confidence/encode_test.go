package confidence

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"nines.dev/nines/result"
)

// bursty are the blocks of some trials with a burst of slow packets in each.
func bursty(trials int) Blocks {
	var all Blocks
	for i := range trials {
		blocks := even(100, 50)
		blocks[(i*37)%100] = packed([]int64{900_000, 1_000_000 + int64(i), 1_100_000})[0]
		all.Add(TrialBlocks(blocks))
	}
	return all
}

func TestBlocksAreReadAsTheyWereWritten(t *testing.T) {
	for _, b := range []Blocks{{}, bursty(1), bursty(12), BlocksOf([][]*result.Packed{even(100, 200)})} {
		encoded, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := DecodeBlocks(encoded)
		if err != nil || !reflect.DeepEqual(read, b) {
			t.Errorf("%d blocks of %d packets are read as %d of %d: %v", b.blocks, b.total, read.blocks, read.total, err)
		}
	}
}

// What is cut or belongs to no packets is refused: a bound would rest on it.
func TestDamagedBlocksAreRefused(t *testing.T) {
	whole := bursty(3)
	encoded, err := whole.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(encoded) - 1 { // the last byte of a DEFLATE stream can be all padding
		if _, err := DecodeBlocks(encoded[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are read", n, len(encoded))
		}
	}
	for name, change := range map[string]func(*Blocks){
		"more in a block than there are": func(b *Blocks) { b.steps[0].in.largest = b.steps[0].above + 1 },
		"squares that are too small":     func(b *Blocks) { b.steps[len(b.steps)-1].in.squares /= 2 },
		"squares that are too large":     func(b *Blocks) { b.steps[len(b.steps)-1].of.squares *= 4 },
		"more trials than blocks":        func(b *Blocks) { b.trials = b.blocks + 1 },
		"falling packets":                func(b *Blocks) { b.steps[1].above = b.steps[0].above },
	} {
		b := bursty(3)
		change(&b)
		if encoded, err = b.Encode(); err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeBlocks(encoded); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// A figure of a node has some kB: its packets' spread is thinned for that, and its bounds get no smaller.
func TestThinnedBlocksBoundLess(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var whole Blocks
	packets := make([]float64, trialPackets)
	for range windowTrials {
		for i := range packets {
			packets[i] = math.Floor(lognormal(r.NormFloat64()))
		}
		one := tally{blocks: leastBlocks}
		for i, ns := range packets {
			one.add(ns, ns, i*leastBlocks/len(packets), 1)
		}
		whole.Add(one.trial())
	}
	thin := whole
	thin.Thin()
	encoded, err := thin.Encode()
	if err != nil || len(encoded) > 5000 || len(thin.steps) > 500 || thin.total != whole.total {
		t.Errorf("%d of %d steps in %d bytes: %v", len(thin.steps), len(whole.steps), len(encoded), err)
	}
	for _, p := range []float64{0.5, 0.9, 0.99, 0.999} {
		bound, before := deref(thin.Percentile(p, Level).High), deref(whole.Percentile(p, Level).High)
		if !(bound >= before && bound <= 1.03*before) {
			t.Errorf("p%g is at most %g ns, %g before", 100*p, bound, before)
		}
	}
	again := thin
	if again.Thin(); !reflect.DeepEqual(again, thin) {
		t.Error("thinned again, they are others")
	}
}

func FuzzDecodeBlocks(f *testing.F) {
	for _, b := range []Blocks{{}, bursty(1), bursty(12)} {
		encoded, err := b.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		b, err := DecodeBlocks(encoded)
		if err != nil {
			return
		}
		again, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := DecodeBlocks(again)
		if err != nil || !reflect.DeepEqual(read, b) {
			t.Errorf("read %v again: %v", bytes.Equal(again, encoded), err)
		}
		if result.Supports(0.99, b.Total()) {
			b.Percentile(0.99, Level)
		}
	})
}
