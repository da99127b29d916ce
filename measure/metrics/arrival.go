package metrics

import (
	"cmp"
	"slices"
)

// overtaken is a packet that arrived after one that was sent later.
type overtaken struct {
	receivedNs int64
	packet     uint32
}

// arrival returns the packets in order of arrival; packets with equal times in send order.
//
// A packet was overtaken if any packet sent after it arrived before it: one pass from the end finds
// these. The times of the others only rise, so they need no sorting; the overtaken ones, which are
// few in most networks, are sorted and merged.
func arrival(receivedNs []int64, received int) []uint32 {
	order := make([]uint32, 0, received)
	late := findOvertaken(receivedNs)
	slices.SortFunc(late, func(a, b overtaken) int {
		return cmp.Or(cmp.Compare(a.receivedNs, b.receivedNs), cmp.Compare(a.packet, b.packet))
	})
	isLate := makeBitset(len(receivedNs), len(late) > 0)
	for _, l := range late {
		isLate.set(int(l.packet))
	}
	for i, at := range receivedNs {
		if at == Lost || isLate != nil && isLate.has(i) {
			continue
		}
		for len(late) > 0 && (late[0].receivedNs < at || late[0].receivedNs == at && late[0].packet < uint32(i)) {
			order = append(order, late[0].packet)
			late = late[1:]
		}
		order = append(order, uint32(i))
	}
	for _, l := range late {
		order = append(order, l.packet)
	}
	return order
}

// findOvertaken counts first, to allocate only the memory needed.
func findOvertaken(receivedNs []int64) []overtaken {
	count := 0
	eachOvertaken(receivedNs, func(int, int64) { count++ })
	late := make([]overtaken, 0, count)
	eachOvertaken(receivedNs, func(packet int, at int64) { late = append(late, overtaken{at, uint32(packet)}) })
	return late
}

func eachOvertaken(receivedNs []int64, do func(packet int, at int64)) {
	earliest, any := int64(0), false
	for i := len(receivedNs) - 1; i >= 0; i-- {
		at := receivedNs[i]
		switch {
		case at == Lost:
		case !any || at <= earliest:
			earliest, any = at, true
		default:
			do(i, at)
		}
	}
}

// bitset is a set of small numbers; nil if it was not needed.
type bitset []uint64

func makeBitset(n int, needed bool) bitset {
	if !needed {
		return nil
	}
	return make(bitset, (n+63)/64)
}

func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
