package packetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
)

// Layout says how a Writer writes packets.
type Layout struct {
	Format    Format
	BigEndian bool
	// Interfaces are the sources of the packets; only pcapng allows several. The default is one
	// Ethernet interface with nanoseconds. A SnapLength of 0 means 256 KiB in pcap.
	Interfaces []Interface
}

// writeBytes is the size of a write.
const writeBytes = 256 << 10

// Writer writes packets in one of the formats that a Reader reads.
type Writer struct {
	out    io.Writer
	layout Layout
	order  interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	buffer []byte
	// ends has where each part ends in buffer: the file header, then the packets.
	ends []int
	// parts and bytes are those written whole.
	parts int
	bytes int64
	err   error
}

// Written is what of a file has been written whole.
type Written struct {
	Packets uint64
	// Bytes is the size of the header and these packets. If a write failed, more bytes may follow in
	// the file: a part of the next packet.
	Bytes int64
}

// NewWriter writes the file header. Call Flush at the end.
func NewWriter(out io.Writer, layout Layout) (*Writer, error) {
	if len(layout.Interfaces) == 0 {
		layout.Interfaces = []Interface{{LinkType: Ethernet, Resolution: Nanoseconds}}
	}
	w := &Writer{out: out, layout: layout, order: binary.LittleEndian, buffer: make([]byte, 0, writeBytes)}
	if layout.BigEndian {
		w.order = binary.BigEndian
	}
	if err := w.head(); err != nil {
		return nil, err
	}
	w.ends = append(w.ends, len(w.buffer))
	return w, nil
}

func (w *Writer) head() error {
	switch w.layout.Format {
	case Pcap:
		return w.headPcap()
	case Pcapng:
		return w.headPcapng()
	case MoonSniff:
		if w.layout.BigEndian {
			return errors.New("MoonSniff files are little-endian")
		}
		return nil
	}
	return fmt.Errorf("unknown format %q to write", w.layout.Format)
}

// Layout returns the layout in use.
func (w *Writer) Layout() Layout { return w.layout }

// Write writes one packet. It truncates times to the resolution. Only pcapng has packets without a
// time; all of them are of the first interface.
func (w *Writer) Write(p Packet) error {
	if w.err != nil {
		return w.err
	}
	if len(p.Data) > maxPacketBytes || int(p.Interface) >= len(w.layout.Interfaces) {
		return fmt.Errorf("write a packet of %d bytes of interface %d: at most %d bytes, of %d interfaces", len(p.Data), p.Interface, maxPacketBytes, len(w.layout.Interfaces))
	}
	if p.TimeNs == NoTime && (w.layout.Format != Pcapng || p.Interface > 0) {
		return fmt.Errorf("write a packet without a time of interface %d into a file of format %s", p.Interface, w.layout.Format)
	}
	switch w.layout.Format {
	case Pcap:
		w.packetPcap(p)
	case Pcapng:
		w.packetPcapng(p)
	case MoonSniff:
		if len(p.Data) != 4 {
			return fmt.Errorf("write a packet of %d bytes: MoonSniff files hold ids of 4 bytes", len(p.Data))
		}
		w.buffer = binary.LittleEndian.AppendUint64(w.buffer, uint64(p.TimeNs))
		w.buffer = append(w.buffer, p.Data...)
	}
	w.ends = append(w.ends, len(w.buffer))
	if len(w.buffer) >= writeBytes {
		return w.Flush()
	}
	return nil
}

// Stamp is a packet's time as a reader will find it: truncated to the resolution.
func (w *Writer) Stamp(p Packet) int64 {
	r := w.layout.Interfaces[p.Interface].Resolution
	if r == Nanoseconds || w.layout.Format == MoonSniff {
		return p.TimeNs
	}
	t := timingOf(r, 0)
	ns, _ := t.ns(r.units(p.TimeNs))
	return ns
}

// Flush writes buffered data. After an error, such as that of a full disk, Written says what is in
// the file.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	var n int
	n, w.err = w.out.Write(w.buffer)
	whole, _ := slices.BinarySearch(w.ends, n+1)
	if whole > 0 {
		w.parts += whole
		w.bytes += int64(w.ends[whole-1])
	}
	w.buffer, w.ends = w.buffer[:0], w.ends[:0]
	return w.err
}

// Written returns what has been written whole so far, without what is buffered.
func (w *Writer) Written() Written { return Written{uint64(max(w.parts-1, 0)), w.bytes} }

func (w *Writer) headPcap() error {
	if len(w.layout.Interfaces) != 1 {
		return fmt.Errorf("a pcap file has one interface, not %d", len(w.layout.Interfaces))
	}
	i := w.layout.Interfaces[0]
	magic, snapLength := uint32(pcapMicroseconds), i.SnapLength
	switch i.Resolution {
	case Nanoseconds:
		magic = pcapNanoseconds
	case Microseconds:
	default:
		return fmt.Errorf("a pcap file has times of 1 ns or 1 µs, not %s", i.Resolution)
	}
	if snapLength == 0 {
		snapLength = maxPacketBytes
	}
	w.u32(magic)
	w.u16(2, 4)
	w.u32(0, 0, snapLength, uint32(i.LinkType))
	return nil
}

func (w *Writer) packetPcap(p Packet) {
	seconds, fraction := p.TimeNs/1e9, p.TimeNs%1e9
	if w.layout.Interfaces[0].Resolution == Microseconds {
		fraction /= 1000
	}
	w.u32(uint32(seconds), uint32(fraction), uint32(len(p.Data)), max(p.Length, uint32(len(p.Data))))
	w.buffer = append(w.buffer, p.Data...)
}

// headPcapng writes a section header and the interfaces, draft-ietf-opsawg-pcapng
// sections 4.1 and 4.2.
func (w *Writer) headPcapng() error {
	w.u32(blockSection, 28, pcapngByteOrder)
	w.u16(1, 0)
	w.u32(0xffffffff, 0xffffffff, 28) // section length: unknown
	for _, i := range w.layout.Interfaces {
		resolution, ok := i.Resolution.option()
		if !ok {
			return fmt.Errorf("a pcapng file has times of a power of 10 or 2, not %s", i.Resolution)
		}
		name := (len(i.Name) + 3) &^ 3
		length := uint32(20 + 8 + 4 + 4 + name)
		w.u32(blockInterface, length)
		w.u16(uint16(i.LinkType), 0)
		w.u32(i.SnapLength)
		w.u16(optionResolution, 1)
		w.buffer = append(w.buffer, resolution, 0, 0, 0)
		w.u16(optionName, uint16(len(i.Name)))
		w.buffer = append(append(w.buffer, i.Name...), make([]byte, name-len(i.Name))...)
		w.u16(optionEnd, 0)
		w.u32(length)
	}
	return nil
}

// packetPcapng writes an enhanced packet block, section 4.3; a simple one, section 4.4, for a packet
// without a time.
func (w *Writer) packetPcapng(p Packet) {
	padded := (len(p.Data) + 3) &^ 3
	if p.TimeNs == NoTime {
		length := uint32(16 + padded)
		w.u32(blockSimple, length, max(p.Length, uint32(len(p.Data))))
		w.buffer = append(w.buffer, p.Data...)
		w.buffer = append(w.buffer, make([]byte, padded-len(p.Data))...)
		w.u32(length)
		return
	}
	length := uint32(32 + padded)
	units := w.layout.Interfaces[p.Interface].Resolution.units(p.TimeNs)
	w.u32(blockEnhanced, length, p.Interface, uint32(units>>32), uint32(units), uint32(len(p.Data)), max(p.Length, uint32(len(p.Data))))
	w.buffer = append(w.buffer, p.Data...)
	w.buffer = append(w.buffer, make([]byte, padded-len(p.Data))...)
	w.u32(length)
}

func (w *Writer) u32(values ...uint32) {
	for _, v := range values {
		w.buffer = w.order.AppendUint32(w.buffer, v)
	}
}

func (w *Writer) u16(values ...uint16) {
	for _, v := range values {
		w.buffer = w.order.AppendUint16(w.buffer, v)
	}
}

// units converts a time to units of the resolution.
func (r Resolution) units(ns int64) uint64 {
	switch r {
	case Nanoseconds:
		return uint64(ns)
	case Microseconds:
		return uint64(ns) / 1000
	}
	u := new(big.Int).Mul(big.NewInt(ns), new(big.Int).SetUint64(uint64(r)))
	return u.Div(u, big.NewInt(1e9)).Uint64()
}
