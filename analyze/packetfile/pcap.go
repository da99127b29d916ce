package packetfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// The file format of libpcap: pcap-savefile(5), draft-ietf-opsawg-pcap. All numbers have the
// writer's byte order, which the magic number shows.
const (
	pcapMicroseconds = 0xa1b2c3d4
	pcapNanoseconds  = 0xa1b23c4d
	// pcapModified is Alexey Kuznetzov's variant: 8 more bytes in each record's head
	// (interface, protocol, type), microseconds.
	pcapModified = 0xa1b2cd34

	pcapHeadBytes     = 24
	pcapRecordBytes   = 16
	modifiedHeadBytes = 24

	// maxPacketBytes is the most that a packet may claim to have: tcpdump's own limit
	// (MAXIMUM_SNAPLEN, 256 KiB). Larger lengths are damage, whatever the file header says.
	maxPacketBytes = 262144

	// The upper half of the link type holds the length of a captured FCS, in 16-bit words.
	linkTypeBits = 0xffff
	hasFCSLength = 1 << 26
)

// Times in nanoseconds under the magic number of microseconds: the larger part of a second's
// nanoseconds is no number of microseconds. From twice a second on, as some tools carry a second
// into the microseconds.
const (
	finerFrom  = 2e6
	finerUntil = 1e9
)

// pcapState is the state for reading pcap records.
type pcapState struct {
	swapped     bool   // big-endian
	headBytes   int    // of a record header
	unitNs      uint64 // of the second part of a time stamp
	olderThan24 bool
	where       uint32 // the index of the interface in Info.Interfaces
	// finer is how many packets have a time that is one in nanoseconds, and no other.
	finer uint64
}

func pcapMagic(head []byte) (magic uint32, swapped, ok bool) {
	if len(head) < 4 {
		return 0, false, false
	}
	magic = binary.LittleEndian.Uint32(head)
	for _, swapped = range []bool{false, true} {
		switch magic {
		case pcapMicroseconds, pcapNanoseconds, pcapModified:
			return magic, swapped, true
		}
		magic = bits.ReverseBytes32(magic)
	}
	return 0, false, false
}

func isPcap(head []byte) bool {
	_, _, ok := pcapMagic(head)
	return ok
}

func (r *Reader) beginPcap() error {
	if !r.window.need(pcapHeadBytes) {
		return r.headCut(fmt.Sprintf("its header has %d bytes instead of %d", r.window.end-r.window.at, pcapHeadBytes))
	}
	if problem := r.header(); problem != "" {
		return exit.Wrongf("%s: %s; convert it with editcap or tcpdump -r … -w …", r.source.path, problem)
	}
	r.info.Format = Pcap
	i := r.info.Interfaces[0]
	r.info.LinkType, r.info.Resolution, r.info.SnapLength, r.info.BigEndian = i.LinkType, i.Resolution, i.SnapLength, r.pcap.swapped
	r.parse = (*Reader).parsePcap
	return nil
}

// header takes the file header in the window: that of the file, or of another one that was appended
// to it.
func (r *Reader) header() (problem string) {
	head := r.window.data[r.window.at:]
	magic, swapped, _ := pcapMagic(head)
	var order binary.ByteOrder = binary.LittleEndian
	if swapped {
		order = binary.BigEndian
	}
	major, minor := order.Uint16(head[4:]), order.Uint16(head[6:])
	if major != 2 {
		return fmt.Sprintf("is a pcap file of version %d.%d; only 2.x is known", major, minor)
	}
	if len(r.info.Interfaces) == maxInterfaces {
		return fmt.Sprintf("more than %s file headers", terminal.Grouped(maxInterfaces))
	}
	link := order.Uint32(head[20:])
	i := Interface{LinkType: LinkType(link & linkTypeBits), Resolution: Microseconds, SnapLength: order.Uint32(head[16:])}
	if link&hasFCSLength != 0 {
		i.FCSBytes = int(link>>28) * 2
	}
	r.pcap = pcapState{swapped: swapped, headBytes: pcapRecordBytes, unitNs: 1000, olderThan24: minor < 4}
	switch magic {
	case pcapNanoseconds:
		r.pcap.unitNs, i.Resolution = 1, Nanoseconds
	case pcapModified:
		r.pcap.headBytes = modifiedHeadBytes
	}
	r.window.at += pcapHeadBytes
	if r.pcap.unitNs == 1000 && r.finerAhead() {
		r.pcap.unitNs, i.Resolution, i.Mislabelled = 1, Nanoseconds, true
	}
	r.pcap.where = r.interfaceLike(i)
	return ""
}

// interfaceLike returns the place of an interface in Info.Interfaces: the same one for files that
// were appended to each other.
func (r *Reader) interfaceLike(i Interface) uint32 {
	if at := slices.Index(r.info.Interfaces, i); at >= 0 {
		return uint32(at)
	}
	r.info.Interfaces = append(r.info.Interfaces, i)
	return uint32(len(r.info.Interfaces) - 1)
}

// finerAhead reports whether most packets of the next window have nanoseconds.
func (r *Reader) finerAhead() bool {
	w := &r.window
	w.need(bufferBytes)
	at, packets, scratch := w.at, uint64(0), make([]Packet, batchPackets)
	for {
		n := r.takePcap(scratch)
		if n == 0 {
			break
		}
		packets += uint64(n)
	}
	finer := r.pcap.finer
	w.at, r.pcap.finer = at, 0
	return 2*finer > packets
}

// headCut is the error for a file that ends before its first packet.
func (r *Reader) headCut(what string) error {
	if err := r.source.raw.err; err != nil {
		return fmt.Errorf("read %s: %w", r.source.path, err)
	}
	return exit.Wrongf("%s: is truncated: %s; capture or copy it again", r.source.path, what)
}

// parsePcap takes the records in the window; if there is none, it reads more.
func (r *Reader) parsePcap(out []Packet) int {
	for {
		n := r.takePcap(out)
		if n == 0 {
			var more bool
			if n, more = r.morePcap(out); n == 0 && more {
				continue
			}
		}
		if r.pcap.unitNs == 1000 && 2*r.pcap.finer > r.read+uint64(n) {
			magic := "4d 3c b2 a1"
			if r.pcap.swapped {
				magic = "a1 b2 3c 4d"
			}
			r.failure = exit.Wrongf("%s: has nanoseconds, but its header says microseconds, and the first packets fit that; write %s over its first bytes", r.source.path, magic)
			return 0
		}
		return n
	}
}

// takePcap takes records up to one that is incomplete or invalid, or may be a file header.
func (r *Reader) takePcap(out []Packet) int {
	w, s := &r.window, r.pcap
	data := w.data[w.at:w.end]
	n := 0
	for n < len(out) && len(data) >= s.headBytes {
		seconds := binary.LittleEndian.Uint32(data)
		fraction := binary.LittleEndian.Uint32(data[4:])
		kept := binary.LittleEndian.Uint32(data[8:])
		length := binary.LittleEndian.Uint32(data[12:])
		if s.swapped {
			seconds, fraction = bits.ReverseBytes32(seconds), bits.ReverseBytes32(fraction)
			kept, length = bits.ReverseBytes32(kept), bits.ReverseBytes32(length)
		}
		if kept > length {
			if s.olderThan24 { // some writers of version 2.3 and older swapped them
				kept, length = length, kept
			} else {
				length = kept
			}
		}
		end := s.headBytes + int(kept)
		if kept > maxPacketBytes || len(data) < end || kept|length == 0 {
			break
		}
		if fraction-finerFrom < finerUntil-finerFrom {
			s.finer++
		}
		p := &out[n]
		p.TimeNs = int64(uint64(seconds)*1e9 + uint64(fraction)*s.unitNs)
		p.Data = data[s.headBytes:end:end]
		p.Length = length
		p.Interface = s.where
		data = data[end:]
		n++
	}
	w.at, r.pcap.finer = w.end-len(data), s.finer
	return n
}

// morePcap reads the next whole record into the window, and takes one that is special; more is false
// at the end for any reason.
func (r *Reader) morePcap(out []Packet) (n int, more bool) {
	w := &r.window
	if !w.need(1) {
		return r.ended(), false
	}
	which := terminal.Grouped(r.read + 1)
	if !w.need(r.pcap.headBytes) {
		return r.cut(fmt.Sprintf("the header of packet %s (%d of %d bytes)", which, w.end-w.at, r.pcap.headBytes)), false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if r.pcap.swapped {
		order = binary.BigEndian
	}
	head := w.data[w.at:]
	kept, length := order.Uint32(head[8:]), order.Uint32(head[12:])
	if r.pcap.olderThan24 {
		kept = min(kept, length)
	}
	switch {
	case kept > maxPacketBytes:
		return r.broken(fmt.Sprintf("packet %s claims to have %s bytes, more than any packet (%s)", which, terminal.Grouped(uint64(kept)), terminal.Grouped(maxPacketBytes)), ""), false
	case kept|length == 0:
		return r.noPacket(out, order, which)
	case !w.need(r.pcap.headBytes + int(kept)):
		return r.cut(fmt.Sprintf("packet %s (%d of %d bytes)", which, w.end-w.at, r.pcap.headBytes+int(kept))), false
	}
	return 0, true
}

// noPacket takes what looks like a record without bytes: the header of a file that was appended,
// zeros, or a packet of which nothing was captured.
func (r *Reader) noPacket(out []Packet, order binary.ByteOrder, which string) (n int, more bool) {
	w := &r.window
	head := w.data[w.at:]
	if isPcap(head) && w.need(pcapHeadBytes) {
		if problem := r.header(); problem != "" {
			return r.broken("a file header in the place of packet "+which+" "+problem, ""), false
		}
		return 0, true
	}
	if isZero(head[:pcapRecordBytes]) {
		return r.broken(fmt.Sprintf("packet %s contains only zeros, as in a sparse file or after a crash", which), ""), false
	}
	out[0] = Packet{TimeNs: int64(uint64(order.Uint32(head))*1e9 + uint64(order.Uint32(head[4:]))*r.pcap.unitNs), Interface: r.pcap.where}
	w.at += r.pcap.headBytes
	return 1, true
}
