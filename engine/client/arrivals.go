package client

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of the arrivals (docs/reference/engine-protocol.md).
const (
	arrivalsMagic       = "NINESARR"
	arrivalsVersion     = 1
	arrivalsHeaderBytes = 128
	arrivalsRowBytes    = 8

	arrivalsUnitTicks = 16
	arrivalsSideB     = 1 << 31
	arrivalsAlone     = 1 << 30
	arrivalsCarry     = 1<<30 - 1
)

// Where the words of its header are.
const (
	arrivalsOneIn         = 12
	arrivalsBaseTicks     = 16
	arrivalsMeasuredTicks = 24
	arrivalsNsPerTick     = 32
	arrivalsCapacity      = 40
	arrivalsPausedTicks   = 48
	arrivalsWritten       = 64
	arrivalsState         = 72
	arrivalsLost          = 80
)

// ArrivalsState is what a trial that keeps arrivals is doing.
type ArrivalsState uint32

// The states of a trial; it is none of them until its thread is about to begin.
const (
	TrialRunning ArrivalsState = 1 + iota
	TrialPaused
	TrialEnded
)

// Arrivals is memory in which an engine keeps when each measured packet arrived, and its latency, in 8 bytes a packet.
// The engine inherits its File, and a trial names it (Trial.Arrivals). It can be read while the trial runs, by one
// goroutine. The next trial with the same file overwrites it.
type Arrivals struct {
	file   *os.File
	memory []byte
	next   uint64 // row
	ticks  uint64 // of the row before
	// takenNs is when the last packet was due that Take returned.
	takenNs int64
	late    uint64
}

// NewArrivals makes memory that takes no room until an engine uses it.
func NewArrivals() (*Arrivals, error) {
	fd, err := unix.MemfdCreate("nines-arrivals", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for arrivals: %w", err)
	}
	return &Arrivals{file: os.NewFile(uintptr(fd), "(arrivals)")}, nil
}

// File is what the engine inherits.
func (a *Arrivals) File() *os.File { return a.file }

// Close gives the memory back.
func (a *Arrivals) Close() error { return errors.Join(a.unmap(), a.file.Close()) }

func (a *Arrivals) unmap() error {
	if a.memory == nil {
		return nil
	}
	memory := a.memory
	a.memory = nil
	return unix.Munmap(memory)
}

// Begin has Next and Take begin with a trial's first packet. Call it when the trial has begun (Events.Started), or ended.
func (a *Arrivals) Begin() error {
	if err := a.begin(); err != nil {
		return fmt.Errorf("the engine's arrivals: %w", errors.Join(err, a.unmap()))
	}
	return nil
}

func (a *Arrivals) begin() error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	size := int(info.Size())
	if size < arrivalsHeaderBytes {
		return errors.New("there are none: no trial has begun that keeps them")
	}
	if size != len(a.memory) {
		if err := a.unmap(); err != nil {
			return err
		}
		if a.memory, err = unix.Mmap(int(a.file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return fmt.Errorf("map %d bytes: %w", size, err)
		}
	}
	if got, v := string(a.memory[:8]), binary.LittleEndian.Uint32(a.memory[8:]); got != arrivalsMagic || v != arrivalsVersion {
		return fmt.Errorf("they begin with %q, version %d instead of %q, %d", got, v, arrivalsMagic, arrivalsVersion)
	}
	if room := uint64(len(a.memory)-arrivalsHeaderBytes) / arrivalsRowBytes; a.word(arrivalsCapacity) > room {
		return fmt.Errorf("%d rows have no room in %d bytes", a.word(arrivalsCapacity), len(a.memory))
	}
	a.next, a.ticks = 0, a.word(arrivalsBaseTicks)
	a.takenNs, a.late = math.MinInt64, 0
	return nil
}

func (a *Arrivals) word(at int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&a.memory[at])))
}

// row is never read before the engine has written it.
func (a *Arrivals) row(i uint64) uint64 { return a.word(arrivalsHeaderBytes + int(i)*arrivalsRowBytes) }

// OneIn is k where 1 in k packets is kept, because all would take too much memory.
func (a *Arrivals) OneIn() int { return int(binary.LittleEndian.Uint32(a.memory[arrivalsOneIn:])) }

// State is what the trial does now.
func (a *Arrivals) State() ArrivalsState {
	return ArrivalsState(atomic.LoadUint32((*uint32)(unsafe.Pointer(&a.memory[arrivalsState]))))
}

// Arrival is a measured packet that arrived.
type Arrival struct {
	// DueNs is when it was due, since the first measured packet was: exact to some nanoseconds. DueNs and LatencyNs is
	// when it was received.
	DueNs     int64
	LatencyNs int64
	// Long is true if the latency was longer than can be kept. LatencyNs is then too short, and DueNs too late.
	Long bool
	// SideB is true for a packet of a duet's second stream.
	SideB bool
	// Alone is true if nothing was under way when the packet was due: all earlier ones had arrived.
	Alone bool
}

// Next returns the packets that have come since it was last used up, in the order of their arrival.
func (a *Arrivals) Next() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		written := min(a.word(arrivalsWritten), a.word(arrivalsCapacity))
		measured, nsPerTick := a.word(arrivalsMeasuredTicks), a.word(arrivalsNsPerTick)
		for a.next < written {
			row := a.row(a.next)
			a.next++
			a.ticks += (row & arrivalsCarry) * arrivalsUnitTicks
			if row == arrivalsCarry {
				continue // no packet, but a long time without one
			}
			latency := row >> 32
			if !yield(Arrival{
				DueNs: spanNs(a.ticks, measured, nsPerTick) - int64(latency), LatencyNs: int64(latency), Long: latency == math.MaxUint32,
				SideB: row&arrivalsSideB != 0, Alone: row&arrivalsAlone != 0,
			}) {
				return
			}
		}
	}
}

// spanNs is the time between two readings of a counter.
func spanNs(ticks, since, nsPerTick uint64) int64 {
	if ticks < since {
		return -spanNs(since, ticks, nsPerTick)
	}
	high, low := bits.Mul64(ticks-since, nsPerTick)
	return int64(high<<8 | low>>56)
}

// Loss is a measured packet that did not arrive.
type Loss struct {
	DueNs int64 // since the first measured packet was due
	SideB bool  // of a duet's second stream
}

// Lost returns the lost packets of a trial that pauses, so far, or has ended, those of each stream in the order in which
// they were due.
func (a *Arrivals) Lost() iter.Seq[Loss] {
	return func(yield func(Loss) bool) {
		capacity := a.word(arrivalsCapacity)
		for i := range min(a.word(arrivalsLost), capacity) {
			row := a.row(capacity - 1 - i)
			if !yield(Loss{DueNs: int64(row &^ (1 << 63)), SideB: row>>63 != 0}) {
				return
			}
		}
	}
}

// Sent is a measured packet that was sent.
type Sent struct {
	DueNs, ReceivedNs int64 // since the first measured packet was due; ReceivedNs is NotReceived for a lost one
	SideB             bool  // of a duet's second stream
}

// NotReceived is when a lost packet was received.
const NotReceived = -1

// Take returns the packets that were due since it was last called, in the order in which they were due, also those that
// did not arrive. Call it in the state TrialPaused or TrialEnded, and do not call Next besides. A packet that arrives only
// after the pause by which it was lost is not returned again; Late counts these.
func (a *Arrivals) Take() []Sent {
	var sent []Sent
	for one := range a.Next() {
		if one.DueNs <= a.takenNs {
			a.late++
			continue
		}
		sent = append(sent, Sent{one.DueNs, one.DueNs + one.LatencyNs, one.SideB})
	}
	for one := range a.Lost() {
		if one.DueNs > a.takenNs {
			sent = append(sent, Sent{one.DueNs, NotReceived, one.SideB})
		}
	}
	slices.SortStableFunc(sent, func(x, y Sent) int { return cmp.Compare(x.DueNs, y.DueNs) })
	if len(sent) > 0 {
		a.takenNs = sent[len(sent)-1].DueNs
	}
	return sent
}

// PausedNs is how long all pauses were that have ended. A trial's times without its pauses are less by it.
func (a *Arrivals) PausedNs() int64 {
	return spanNs(a.word(arrivalsPausedTicks), 0, a.word(arrivalsNsPerTick))
}

// Late is how many packets arrived after Take had returned them as lost.
func (a *Arrivals) Late() uint64 { return a.late }

// ArrivalCounts is what the answer to a trial says of its arrivals.
type ArrivalCounts struct {
	Rows  uint64 `json:"rows"`
	OneIn int    `json:"one_in"`
	// Missed packets arrived when there was no room left, and Saturated ones took longer than a row can tell.
	Missed    uint64 `json:"missed"`
	Saturated uint64 `json:"saturated"`
	// Lost have a row. LostMissed have none: there was no room, or nobody knows when they were due.
	Lost       uint64 `json:"lost"`
	LostMissed uint64 `json:"lost_missed"`
}

// Whole is true if nothing is left out but by OneIn, and all times are right.
func (c ArrivalCounts) Whole() bool { return c.Missed+c.Saturated+c.LostMissed == 0 }
