package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Notices is where an engine announces packets: a ring in its memory (docs/reference/engine-protocol.md).
type Notices struct {
	PID     int
	Address uint64
}

// The format of the ring, as in engine/stats/notices.h.
const (
	noticeBytes   = 64
	noticesHead   = 16 // offset of the count in the ring's first line
	noticesMost   = 1 << 20
	noticesMagic  = "NINESNOT"
	slowestNotice = 1<<32 - 1
)

// source is the reading side of an engine's ring.
type source struct {
	notices  Notices
	capacity uint64
	seen     uint64
	// fetch copies from the other process's memory.
	fetch func(into []byte, address uint64) error
}

func newSource(n Notices) (*source, error) {
	s := &source{notices: n, fetch: func(into []byte, address uint64) error { return readMemory(n.PID, into, address) }}
	line := make([]byte, noticeBytes)
	if err := s.fetch(line, n.Address); err != nil {
		return nil, fmt.Errorf("read the engine's announcements: %w", err)
	}
	capacity := uint64(binary.LittleEndian.Uint32(line[12:]))
	if string(line[:8]) != noticesMagic || binary.LittleEndian.Uint32(line[8:]) != 1 || capacity == 0 || capacity > noticesMost {
		return nil, errors.New("read the engine's announcements: they are not at that address")
	}
	s.capacity = capacity
	return s, nil
}

// read returns what was announced since the last call, and how many announcements had been
// overwritten. An engine that has ended announces nothing.
func (s *source) read() (packets []Packet, missed uint64) {
	line := make([]byte, noticeBytes)
	if s.fetch(line, s.notices.Address) != nil {
		return nil, 0
	}
	head := binary.LittleEndian.Uint64(line[noticesHead:])
	if head <= s.seen {
		return nil, 0
	}
	if from := head - min(head, s.capacity); from > s.seen {
		missed, s.seen = from-s.seen, from
	}
	for s.seen < head {
		at := s.seen % s.capacity
		count := min(head-s.seen, s.capacity-at)
		raw := make([]byte, count*noticeBytes)
		if s.fetch(raw, s.notices.Address+(1+at)*noticeBytes) != nil {
			return packets, missed
		}
		i := uint64(0)
		for one := range slices.Chunk(raw, noticeBytes) {
			if p, ok := decodeNotice(one, s.seen+i); ok {
				packets = append(packets, p)
			} else {
				missed++
			}
			i++
		}
		s.seen += count
	}
	return packets, missed
}

// decodeNotice reads the announcement of a place; false if the place holds another one.
func decodeNotice(raw []byte, place uint64) (Packet, bool) {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(raw[at:]) }
	if len(raw) < noticeBytes || word(0) != place+1 {
		return Packet{}, false
	}
	p := Packet{BeginNs: int64(word(8)), LatencyNs: int64(word(16)), ID: binary.LittleEndian.Uint32(raw[40:])}
	p.EndNs = p.BeginNs + p.LatencyNs
	if place := binary.LittleEndian.Uint32(raw[48:]); place != slowestNotice {
		p.Ordinary, p.Place = true, int(place)
	}
	return p, p.BeginNs > 0 && p.LatencyNs >= 0 && p.EndNs >= p.BeginNs
}

// readMemory copies from another process (process_vm_readv; CAP_SYS_PTRACE).
func readMemory(pid int, into []byte, address uint64) error {
	local := []unix.Iovec{{Base: &into[0]}}
	local[0].SetLen(len(into))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}, 0)
	if err == nil && n != len(into) {
		err = unix.EFAULT
	}
	return err
}
