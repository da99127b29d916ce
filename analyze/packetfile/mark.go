package packetfile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// mark is a place in a pcap file between two packets, from which it can be read again.
type mark struct {
	read   uint64 // packets before it
	offset int64
	state  pcapState
}

// marksApart is the least distance of two marks: what is read from the file at once.
const marksApart = bufferBytes

// mark remembers where the next packet is. Compressed data cannot be read from the middle, and the blocks of pcapng need
// those before them.
func (r *Reader) mark() {
	if r.info.Format != Pcap || r.source.compression != Plain || r.parts != nil {
		return
	}
	at := r.window.offset()
	if n := len(r.marks); at >= marksApart && (n == 0 || at >= r.marks[n-1].offset+marksApart) {
		r.marks = append(r.marks, mark{r.read, at, r.pcap})
	}
}

// SkipTo leaves out packets before the one with a number, as far as an earlier reading has left marks. It never goes
// back.
func (r *Reader) SkipTo(number uint64) error {
	at, _ := slices.BinarySearchFunc(r.marks, number, func(m mark, number uint64) int { return cmp.Compare(m.read, number) })
	if at == 0 || r.marks[at-1].read <= r.read {
		return nil
	}
	m := r.marks[at-1]
	if _, err := r.source.file.Seek(m.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", r.source.path, err)
	}
	r.source.raw.done = m.offset
	r.window.reset(r.source.stream)
	r.window.base, r.read, r.pcap = m.offset, m.read, m.state
	return nil
}
