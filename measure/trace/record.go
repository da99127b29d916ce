package trace

import (
	"encoding/binary"
	"math/bits"

	"nines.dev/nines/result"
)

// The format of the records, as in bpf/record.h.
const recordBytes = 32

// kind is enum kind of bpf/record.h.
type kind uint8

const (
	kindSwitch kind = iota + 1
	kindWaking
	kindWakeup
	kindIRQEntry
	kindIRQExit
	kindSoftirqEntry
	kindSoftirqExit
	kindVectorEntry
	kindVectorExit
	kindIPI
	kindIPIMask
	kindCSD
	kindTLBFlush
	kindTimer
	kindWorkEntry
	kindWorkExit
	kindIdle
	kindPoll
	kindDrop
	kindStage
	kindSpan
	kinds
)

// allKinds is what a CPU of the measurement records, senderKinds what a CPU does that only sends
// interrupts to those.
const (
	allKinds    = 1<<kinds - 1
	senderKinds = 1<<kindIPI | 1<<kindIPIMask | 1<<kindCSD
)

const (
	flagRunnable  = 1
	flagInSoftirq = 2
	flagPolled    = 0x80
	flagForeign   = 0x40
)

// record is an event as a CPU's program wrote it.
type record struct {
	// place is the number of records that the CPU had written before.
	place uint64
	ns    int64
	kind  kind
	flags uint8
	part  uint16
	a, b  uint64
}

// eventKinds are those that records become.
var eventKinds = [kinds]result.EventKind{
	kindSwitch: result.EventThread, kindWaking: result.EventWakeup, kindWakeup: result.EventWakeup,
	kindIRQEntry: result.EventInterrupt, kindIRQExit: result.EventInterrupt,
	kindVectorEntry: result.EventInterrupt, kindVectorExit: result.EventInterrupt,
	kindSoftirqEntry: result.EventSoftirq, kindSoftirqExit: result.EventSoftirq,
	kindIPI: result.EventIPI, kindIPIMask: result.EventIPI, kindCSD: result.EventIPI, kindTLBFlush: result.EventTLBFlush,
	kindTimer: result.EventTimer, kindWorkEntry: result.EventWork, kindWorkExit: result.EventWork,
	kindIdle: result.EventIdle, kindPoll: result.EventPoll, kindDrop: result.EventDrop, kindStage: result.EventStage,
	kindSpan: result.EventInterrupt,
}

// event is the kind of event that a record becomes.
func (r record) event() result.EventKind {
	if r.kind == kindSpan && r.span() == spanSoftirq {
		return result.EventSoftirq
	}
	return eventKinds[r.kind]
}

// decode reads the record of a place; false if the place holds another one, is being written, or
// was never written.
func decode(raw []byte, place uint64) (record, bool) {
	if len(raw) < recordBytes || binary.LittleEndian.Uint32(raw[8:]) != uint32(place)+1 {
		return record{}, false
	}
	r := record{
		place: place,
		ns:    int64(binary.LittleEndian.Uint64(raw)),
		kind:  kind(raw[12]), flags: raw[13], part: binary.LittleEndian.Uint16(raw[14:]),
		a: binary.LittleEndian.Uint64(raw[16:]), b: binary.LittleEndian.Uint64(raw[24:]),
	}
	return r, r.kind > 0 && r.kind < kinds && (r.kind != kindSpan || r.span() < spanKinds)
}

// ceilPowerOfTwo is the smallest power of two that is at least n.
func ceilPowerOfTwo(n uint64) uint64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(n-1)
}
