package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// The engine's form of a file: engine/stats/recorder.h.
const (
	magic       = "NINESREC"
	version     = 3
	headerBytes = 64
	recordBytes = 16

	flowsMax = 65535 // engine/control/command.c

	kindSent     = 1
	kindReceived = 2
)

// clock turns ticks of the time stamp counter into nanoseconds of CLOCK_MONOTONIC.
type clock struct {
	baseTicks, baseNs, nsPerTick uint64
}

// tickShift is the fixed point of nsPerTick: engine/clock/clock.h.
const tickShift = 56

func (c clock) span(ticks uint64) int64 {
	high, low := bits.Mul64(ticks, c.nsPerTick)
	return int64(high<<(64-tickShift) | low>>tickShift)
}

func (c clock) at(ticks uint64) int64 {
	if ticks >= c.baseTicks {
		return int64(c.baseNs) + c.span(ticks-c.baseTicks)
	}
	return int64(c.baseNs) - c.span(c.baseTicks-ticks)
}

// records are those of a mapped file.
type records struct {
	mapped          []byte
	all             []byte // without the header
	clock           clock
	measuredStartNs int64
	flows           int
}

var errUnfinished = errors.New("it was not finished")

func mapFile(file *os.File, kind uint32) (r records, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the engine's record of packets: %w", errors.Join(err, r.close()))
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return r, err
	}
	if info.Size() == 0 {
		return r, errUnfinished
	}
	if r.mapped, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return r, fmt.Errorf("map %d bytes: %w", info.Size(), err)
	}
	return r, r.parse(kind)
}

func (r *records) parse(kind uint32) error {
	if len(r.mapped) < headerBytes {
		return errUnfinished
	}
	h, order := r.mapped[:headerBytes], binary.LittleEndian
	if bytes.Equal(h[:8], make([]byte, 8)) {
		return errUnfinished
	}
	if got, v, k := string(h[:8]), order.Uint32(h[8:]), order.Uint32(h[12:]); got != magic || v != version || k != kind {
		return fmt.Errorf("it begins with %q, version %d, kind %d instead of %q, %d, %d", got, v, k, magic, version, kind)
	}
	r.clock = clock{order.Uint64(h[16:]), order.Uint64(h[24:]), order.Uint64(h[32:])}
	r.measuredStartNs = int64(order.Uint64(h[40:]))
	flows := order.Uint32(h[48:])
	if flows == 0 || flows > flowsMax {
		return fmt.Errorf("it has %d flows; a port has 1 to %d", flows, flowsMax)
	}
	r.flows = int(flows)
	// A full disk may have truncated the last record.
	r.all = r.mapped[headerBytes:]
	r.all = r.all[:len(r.all)/recordBytes*recordBytes]
	return nil
}

func (r *records) len() int { return len(r.all) / recordBytes }

// record returns the id, the nanoseconds before and the ticks of the i-th record.
func (r *records) record(i int) (id, beforeNs uint32, ticks uint64) {
	b := r.all[i*recordBytes : i*recordBytes+recordBytes]
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
}

func (r *records) id(i int) uint32 { return binary.LittleEndian.Uint32(r.all[i*recordBytes:]) }

func (r *records) close() error {
	if r.mapped == nil {
		return nil
	}
	mapped := r.mapped
	r.mapped, r.all = nil, nil
	return unix.Munmap(mapped)
}
