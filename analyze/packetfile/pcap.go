package packetfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"

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
)

// pcapState is the state for reading pcap records.
type pcapState struct {
	swapped     bool   // big-endian
	headBytes   int    // of a record header
	unitNs      uint64 // of the second part of a time stamp
	olderThan24 bool
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
	head := r.window.data[r.window.at:]
	magic, swapped, _ := pcapMagic(head)
	var order binary.ByteOrder = binary.LittleEndian
	if swapped {
		order = binary.BigEndian
	}
	major, minor := order.Uint16(head[4:]), order.Uint16(head[6:])
	if major != 2 {
		return exit.Wrongf("%s: is a pcap file of version %d.%d; only 2.x is known; convert it with editcap or tcpdump -r … -w …", r.source.path, major, minor)
	}
	r.pcap = pcapState{swapped: swapped, headBytes: pcapRecordBytes, unitNs: 1000, olderThan24: minor < 4}
	r.info.Format, r.info.BigEndian, r.info.Resolution = Pcap, swapped, Microseconds
	switch magic {
	case pcapNanoseconds:
		r.pcap.unitNs, r.info.Resolution = 1, Nanoseconds
	case pcapModified:
		r.pcap.headBytes = modifiedHeadBytes
	}
	r.info.SnapLength = order.Uint32(head[16:])
	// The upper half holds the length of a captured FCS.
	r.info.LinkType = LinkType(order.Uint32(head[20:]) & 0xffff)
	r.info.Interfaces = []Interface{{LinkType: r.info.LinkType, Resolution: r.info.Resolution, SnapLength: r.info.SnapLength}}
	r.window.at += pcapHeadBytes
	r.parse = (*Reader).parsePcap
	return nil
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
		if n := r.takePcap(out); n > 0 {
			return n
		}
		if !r.morePcap() {
			return 0
		}
	}
}

// takePcap takes records up to one that is incomplete or invalid.
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
		if kept > maxPacketBytes || len(data) < end || kept|length|seconds|fraction == 0 {
			break
		}
		p := &out[n]
		p.TimeNs = int64(uint64(seconds)*1e9 + uint64(fraction)*s.unitNs)
		p.Data = data[s.headBytes:end:end]
		p.Length = length
		p.Interface = 0
		data = data[end:]
		n++
	}
	w.at = w.end - len(data)
	return n
}

// morePcap reads the next whole record into the window; false at the end for any reason.
func (r *Reader) morePcap() bool {
	w := &r.window
	if !w.need(1) {
		r.ended()
		return false
	}
	which := terminal.Grouped(r.seen.Packets + 1)
	if !w.need(r.pcap.headBytes) {
		r.cut(fmt.Sprintf("the header of packet %s (%d of %d bytes)", which, w.end-w.at, r.pcap.headBytes))
		return false
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
		r.broken(fmt.Sprintf("packet %s claims to have %s bytes, more than any packet (%s)", which, terminal.Grouped(uint64(kept)), terminal.Grouped(maxPacketBytes)), "")
		return false
	case binary.LittleEndian.Uint64(head)|binary.LittleEndian.Uint64(head[8:]) == 0:
		r.broken(fmt.Sprintf("packet %s contains only zeros, as in a sparse file or after a crash", which), "")
		return false
	case !w.need(r.pcap.headBytes + int(kept)):
		r.cut(fmt.Sprintf("packet %s (%d of %d bytes)", which, w.end-w.at, r.pcap.headBytes+int(kept)))
		return false
	}
	return true
}
