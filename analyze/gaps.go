package analyze

import (
	"cmp"
	"slices"
)

// gaps say which packets of a file have no place in memory. There are none in most files, and then
// a packet's number is its place and 1.
type gaps []gap

// gap says how many packets have been left out before a place, in all.
type gap struct {
	place  uint32
	before uint64
}

// before is how many packets have been left out so far.
func (g gaps) before() uint64 {
	if len(g) == 0 {
		return 0
	}
	return g[len(g)-1].before
}

// number is the number in the file of the packet at a place.
func (g gaps) number(place uint32) uint64 {
	at, found := slices.BinarySearchFunc(g, place, func(g gap, place uint32) int { return cmp.Compare(g.place, place) })
	if found {
		at++
	}
	number := uint64(place) + 1
	if at > 0 {
		number += g[at-1].before
	}
	return number
}
