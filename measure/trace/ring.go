package trace

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// ring is a CPU's records in memory shared with the programs.
type ring struct {
	cpu     int
	state   []byte // struct cpu of bpf/record.h
	records []byte // their number is a power of two
}

const (
	stateBytes  = 128
	stateKinds  = 16
	stateThread = 20
	stateSince  = 24
	statePlace  = 40
	stateSpans  = 64
)

// guard is the number of oldest records that are not trusted: they are overwritten next, perhaps
// while being read.
const guard = 64

func (r ring) size() uint64 { return uint64(len(r.records) / recordBytes) }

// head is the number of records that the CPU has written.
func (r ring) head() uint64 { return r.word(0).Load() }

func (r ring) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r.state[at]))
}

// running returns the thread on the CPU, and since when; 0 before the first switch.
func (r ring) running() (tid uint32, since int64) {
	return binary.LittleEndian.Uint32(r.state[stateThread:]), int64(r.word(stateSince).Load())
}

// oldest is the first place that is still readable when head records were written.
func (r ring) oldest(head uint64) uint64 {
	if size := r.size() - guard; head > size {
		return head - size
	}
	return 0
}

// at reads the record of a place.
func (r ring) at(place uint64) (record, bool) {
	offset := place % r.size() * recordBytes
	return decode(r.records[offset:offset+recordBytes], place)
}

// find is the first place in [from, to) whose record is not before ns. Times follow the order of
// places, except for interrupts in between, which slack allows for.
func (r ring) find(from, to uint64, ns int64) uint64 {
	for from < to {
		middle := from + (to-from)/2
		record, ok := r.near(middle, to)
		// Overwritten records are older than all readable ones.
		if !ok || record.ns < ns {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

// near reads the record of a place, or of one just after it if that one is being written.
func (r ring) near(place, end uint64) (record, bool) {
	for next := place; next < min(end, place+8); next++ {
		if record, ok := r.at(next); ok {
			return record, true
		}
	}
	return record{}, false
}
