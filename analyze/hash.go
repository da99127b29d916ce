package analyze

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// A content key has 52 bytes and more; 100 million of them would need more memory than everything
// else. A hash stands for it: two independent ones of the multilinear family over the ring of
// integers modulo 2^128 (D. Lemire, O. Kaser, "Strongly universal string hashing is fast", The
// Computer Journal 57 (11), 2014, section 2), with multipliers from the system's random source.
// That family is strongly universal: any two different keys have the same 64-bit hash with a
// probability of at most 2^-64, for any packets from any source, since the multipliers are drawn
// for each evaluation.
//
// 96 bits of the two are kept, and their partition adds a few more. With 10^8 packets on each side
// there are 2·10^16 pairs of packets, so the probability that any two different keys are taken for
// one is below 2·10^16 / 2^96 < 10^-12: less than that of an undetected error in the memory that
// holds them. A longer key is hashed block by block, each with the hash of those before it, so that
// two that differ have a chance in each block: of 1500 bytes, 33 times as many. Ids are not hashed but mixed by a bijection, and cannot collide.

// contentWords are the words of a block.
const contentWords = 7

// multiplier is a random number of 128 bits.
type multiplier struct{ hi, lo uint64 }

// hasher holds the random numbers of one evaluation.
type hasher struct {
	add, length [2]multiplier
	word        [2][contentWords]multiplier
}

func newHasher() *hasher {
	var raw [2 * (2 + contentWords) * 16]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	at := 0
	draw := func() multiplier {
		m := multiplier{binary.LittleEndian.Uint64(raw[at:]), binary.LittleEndian.Uint64(raw[at+8:])}
		at += 16
		return m
	}
	h := new(hasher)
	for lane := range 2 {
		h.add[lane], h.length[lane] = draw(), draw()
		for i := range h.word[lane] {
			h.word[lane][i] = draw()
		}
	}
	return h
}

// of hashes a key of n bytes, zero-padded in words. The length is an extra word, so that padding
// does not make two keys equal.
//
// A lane is the upper half of add + Σ word·multiplier modulo 2^128; both lanes are computed in
// parallel, as a core can.
func (h *hasher) of(words *[contentWords]uint64, n int) hash96 {
	first, second := &h.word[0], &h.word[1]
	hi0, lo0 := h.add[0].plus(uint64(n), h.length[0])
	hi1, lo1 := h.add[1].plus(uint64(n), h.length[1])
	for i, w := range words {
		var carry uint64
		high, low := bits.Mul64(w, first[i].lo)
		lo0, carry = bits.Add64(lo0, low, 0)
		hi0 += high + carry + w*first[i].hi
		high, low = bits.Mul64(w, second[i].lo)
		lo1, carry = bits.Add64(lo1, low, 0)
		hi1 += high + carry + w*second[i].hi
	}
	return hash96{hi0, uint32(hi1 >> 32)}
}

// block is of for n bytes, with zeros behind them.
func (h *hasher) block(key *[8 * contentWords]byte, n int) hash96 {
	var words [contentWords]uint64
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(key[8*i:])
	}
	return h.of(&words, n)
}

// plus is m + w·by modulo 2^128.
func (m multiplier) plus(w uint64, by multiplier) (hi, lo uint64) {
	high, low := bits.Mul64(w, by.lo)
	lo, carry := bits.Add64(m.lo, low, 0)
	return m.hi + high + carry + w*by.hi, lo
}

// hash96 is a hashed key: equal for equal keys, different for different ones.
type hash96 struct {
	hi uint64
	lo uint32
}

// mix spreads an id over 64 bits by a bijection (each step can be undone), so that its
// upper and lower bits choose partitions and slots evenly. It is the finaliser of
// SplitMix64 (G. Steele et al., OOPSLA 2014).
func mix(id uint64) hash96 {
	id = (id ^ id>>30) * 0xbf58476d1ce4e5b9
	id = (id ^ id>>27) * 0x94d049bb133111eb
	return hash96{hi: id ^ id>>31}
}
