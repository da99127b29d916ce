package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
)

// readersMost is READERS of bpf/record.h.
const readersMost = 64

// tables are the names of threads and devices, in memory that the programs write.
type tables struct {
	threads, devices []byte
	readers          uint32
	nodes            map[uint32]string
}

// The format of the tables, as in bpf/record.h.
const (
	entryBytes   = 24
	threadsCount = 16384
	devicesCount = 256
	spacesCount  = 1024
)

// note looks up the threads and devices of records while their names are still there.
func (t tables) note(n *names, records []record) {
	for _, r := range records {
		switch r.kind {
		case kindSwitch:
			t.noteThread(n, uint32(r.a))
			t.noteThread(n, uint32(r.b))
		case kindWaking, kindWakeup:
			t.noteThread(n, uint32(r.a))
		case kindPoll:
			t.noteDevice(n, r.a)
		case kindStage, kindSpan, kindSoftirqExit:
			t.noteDevice(n, r.b)
		}
	}
}

// markReader makes the programs record what a thread is woken for. A thread may have several roles
// on the packets' path, but is marked once.
func (t *tables) markReader(tid uint32) {
	entry := t.threads[tid%threadsCount*entryBytes:][:entryBytes]
	if binary.LittleEndian.Uint32(entry[20:]) != 0 || t.readers == readersMost {
		return
	}
	t.readers++
	binary.LittleEndian.PutUint32(entry, tid)
	binary.LittleEndian.PutUint32(entry[20:], t.readers)
}

func (t tables) noteThread(n *names, tid uint32) {
	if _, known := n.threads[tid]; known || tid == 0 {
		return
	}
	entry := t.threads[tid%threadsCount*entryBytes:][:entryBytes]
	if binary.LittleEndian.Uint32(entry) == tid {
		n.threads[tid] = text(entry[4:20])
		return
	}
	// Another thread has overwritten it since.
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", tid)); err == nil {
		n.threads[tid] = strings.TrimSpace(string(name))
	}
}

func (t tables) noteDevice(n *names, id uint64) {
	if _, known := n.devices[id]; known || id == 0 {
		return
	}
	// As in note_device.
	entry := t.devices[(uint32(id>>32)*31+uint32(id))%devicesCount*entryBytes:][:entryBytes]
	if binary.LittleEndian.Uint64(entry) == id {
		n.devices[id] = text(entry[8:24])
		if node := t.nodes[uint32(id>>32)]; node != "" {
			n.devices[id] = node + ":" + n.devices[id]
		}
	}
}

// noteDelays looks up the devices of delays.
func (t tables) noteDelays(n *names, raw []byte) {
	for one := range slices.Chunk(raw, delayBytes) {
		if len(one) == delayBytes {
			t.noteDevice(n, decodeDelay(one).device)
		}
	}
}

// text returns the C string in a field.
func text(field []byte) string {
	if end := bytes.IndexByte(field, 0); end >= 0 {
		field = field[:end]
	}
	return strings.ToValidUTF8(string(field), "?")
}
