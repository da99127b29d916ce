package metrics

import (
	"cmp"
	"slices"
)

// overtaken is a packet that one sent later arrived before.
type overtaken struct {
	receivedNs int64
	packet     uint32
}

// arrival is the order in which the packets came, packets of one time in the order of
// sending.
//
// A packet was overtaken if the earliest arrival of all that were sent after it is
// before its own: one pass from the end finds these. The others' times only rise, so
// that they need no sorting; those overtaken, of which there are few in most networks,
// are sorted and merged with them.
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

// findOvertaken counts them first, so that no more memory is taken than they need.
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

// bitset is a set of small numbers; nil is one that was not needed.
type bitset []uint64

func makeBitset(n int, needed bool) bitset {
	if !needed {
		return nil
	}
	return make(bitset, (n+63)/64)
}

func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
