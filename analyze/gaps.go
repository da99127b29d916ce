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

// see takes the next packet that has a place, with its number in the file.
func (g *gaps) see(place int, number uint64) {
	before := number - 1 - uint64(place)
	if n := len(*g); n == 0 && before > 0 || n > 0 && (*g)[n-1].before != before {
		*g = append(*g, gap{uint32(place), before})
	}
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
