package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
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

// PausedNs is how long all pauses were that have ended. A trial's times without its pauses are less by it.
func (a *Arrivals) PausedNs() int64 {
	return spanNs(a.word(arrivalsPausedTicks), 0, a.word(arrivalsNsPerTick))
}

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
