package trace

import (
	"encoding/binary"
	"errors"
	"testing"
)

// engine simulates the memory of an announcing engine.
type engine struct {
	memory   []byte
	capacity uint64
	head     uint64
}

const engineAt = 0x7f0000001000

func newEngine(capacity uint64) *engine {
	e := &engine{memory: make([]byte, (1+capacity)*noticeBytes), capacity: capacity}
	copy(e.memory, noticesMagic)
	binary.LittleEndian.PutUint32(e.memory[8:], 1)
	binary.LittleEndian.PutUint32(e.memory[12:], uint32(capacity))
	return e
}

func (e *engine) announce(id uint32, begin, latency uint64, place uint32) {
	at := e.memory[(1+e.head%e.capacity)*noticeBytes:]
	binary.LittleEndian.PutUint64(at, e.head+1)
	binary.LittleEndian.PutUint64(at[8:], begin)
	binary.LittleEndian.PutUint64(at[16:], latency)
	binary.LittleEndian.PutUint32(at[40:], id)
	binary.LittleEndian.PutUint32(at[48:], place)
	e.head++
	binary.LittleEndian.PutUint64(e.memory[noticesHead:], e.head)
}

func (e *engine) source() *source {
	return &source{notices: Notices{Address: engineAt}, capacity: e.capacity, fetch: func(into []byte, address uint64) error {
		if address < engineAt || address-engineAt+uint64(len(into)) > uint64(len(e.memory)) {
			return errors.New("bad address")
		}
		copy(into, e.memory[address-engineAt:])
		return nil
	}}
}

func TestAnnouncementsAreRead(t *testing.T) {
	e := newEngine(8)
	s := e.source()
	e.announce(5, 1000, 50, slowestNotice)
	e.announce(6, 1100, 20, 3)
	packets, missed := s.read()
	want := []Packet{{ID: 5, BeginNs: 1000, EndNs: 1050, LatencyNs: 50}, {ID: 6, BeginNs: 1100, EndNs: 1120, LatencyNs: 20, Ordinary: true, Place: 3}}
	if missed != 0 || len(packets) != 2 || packets[0] != want[0] || packets[1] != want[1] {
		t.Errorf("%+v, %d missed", packets, missed)
	}
	if again, _ := s.read(); len(again) != 0 {
		t.Errorf("%+v are read twice", again)
	}
	for i := range uint32(7) { // around the ring's end
		e.announce(10+i, 2000, 1, slowestNotice)
	}
	if packets, missed = s.read(); len(packets) != 7 || missed != 0 || packets[6].ID != 16 {
		t.Errorf("%+v, %d missed", packets, missed)
	}
	for i := range uint32(20) {
		e.announce(100+i, 3000, 1, slowestNotice)
	}
	if packets, missed = s.read(); len(packets) != 8 || missed != 12 || packets[0].ID != 112 {
		t.Errorf("%+v, %d missed", packets, missed)
	}
	e.announce(200, 4000, 1, slowestNotice)
	e.announce(201, 4000, 1, slowestNotice)
	// An announcement being written is skipped and counted.
	binary.LittleEndian.PutUint64(e.memory[(1+(e.head-1)%8)*noticeBytes:], 0)
	if packets, missed = s.read(); len(packets) != 1 || missed != 1 || packets[0].ID != 200 {
		t.Errorf("%+v, %d missed", packets, missed)
	}
}

// Another process's memory may hold anything.
func FuzzNotice(f *testing.F) {
	e := newEngine(1)
	e.announce(5, 1000, 50, 7)
	f.Add(e.memory[noticeBytes:], uint64(0))
	f.Fuzz(func(t *testing.T, raw []byte, place uint64) {
		p, ok := decodeNotice(raw, place)
		if ok && (p.EndNs < p.BeginNs || p.BeginNs <= 0 || p.LatencyNs < 0 || p.Place < 0) {
			t.Errorf("%+v", p)
		}
	})
}
