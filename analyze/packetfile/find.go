package packetfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
)

// markPackets is the number of packets between two marks in an uncompressed file.
const markPackets = 1 << 16

// mark is a place in the file where reading can start.
type mark struct {
	packets    uint64 // before it
	offset     int64
	interfaces int
	pcapng     pcapngState
}

// mark remembers the place of the next packet at regular intervals.
func (r *Reader) mark() {
	due := uint64(0)
	if len(r.marks) > 0 {
		due = r.marks[len(r.marks)-1].packets + markPackets
	}
	if r.source.compression == Plain && r.seen.Packets >= due {
		r.marks = append(r.marks, mark{r.seen.Packets, r.window.offset(), len(r.info.Interfaces), r.pcapng})
	}
}

// Find finds packets again by number: the first packet of the file is 0. It calls found for each in
// file order; their Data is valid until found returns. In an uncompressed file it seeks to marks
// from an earlier read; a compressed file it reads again up to the last number. Afterwards there is
// nothing to read until Rewind.
func (r *Reader) Find(numbers []uint64, found func(number uint64, p Packet) error) error {
	seen, damage := r.seen, r.damage
	defer func() {
		r.seen, r.damage, r.done = seen, damage, true
		r.stockAt, r.stockHave = 0, 0
	}()
	if r.source.compression != Plain {
		if err := r.Rewind(); err != nil {
			return err
		}
	}
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	batch := make([]Packet, batchPackets)
	n, first := 0, r.seen.Packets // of the batch
	positioned := r.source.compression != Plain
	for _, number := range slices.Compact(numbers) {
		if !positioned || number >= first+uint64(n)+markPackets {
			if moved, err := r.toMark(number, first+uint64(n), positioned); err != nil {
				return err
			} else if moved {
				n, first = 0, r.seen.Packets
			}
			positioned = true
		}
		for number >= first+uint64(n) {
			first += uint64(n)
			var err error
			if n, err = r.NextBatch(batch); errors.Is(err, io.EOF) {
				return fmt.Errorf("find packet %d in %s: there are %d", number, r.source.path, first)
			} else if err != nil {
				return err
			}
		}
		if err := found(number, batch[number-first]); err != nil {
			return err
		}
	}
	return nil
}

// toMark seeks to the last mark before a packet, if that is further on.
func (r *Reader) toMark(number, here uint64, positioned bool) (moved bool, err error) {
	at := sort.Search(len(r.marks), func(i int) bool { return r.marks[i].packets > number }) - 1
	switch {
	case positioned && (at < 0 || r.marks[at].packets <= here):
		return false, nil
	case at < 0:
		return true, r.Rewind()
	}
	m := r.marks[at]
	if _, err := r.source.file.Seek(m.offset, io.SeekStart); err != nil {
		return false, fmt.Errorf("read %s: %w", r.source.path, err)
	}
	r.window.reset(r.source.stream)
	r.window.base = m.offset
	r.info.Interfaces = r.info.Interfaces[:m.interfaces]
	r.pcapng = m.pcapng
	r.seen = Seen{Packets: m.packets}
	r.damage, r.done = nil, false
	return true, nil
}
