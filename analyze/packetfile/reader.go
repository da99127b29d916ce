package packetfile

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Packet is one captured packet.
type Packet struct {
	// TimeNs is when it was captured, in nanoseconds since 1970; NoTime if the file does not say.
	TimeNs int64
	// Data is the captured part of the packet, valid until the next call to the Reader. In a
	// MoonSniff file it is the packet's id, 4 bytes, little-endian.
	Data []byte
	// Length is the packet's full length, at least that of Data; 0 in a MoonSniff file.
	Length uint32
	// Interface is the capturing interface, an index into Info.Interfaces.
	Interface uint32
	// Number is its place in the file, from 1, as Wireshark counts.
	Number uint64
}

// NoTime is the time of a packet without one: pcapng's simple packets.
const NoTime = math.MinInt64

// Format is a capture file format.
type Format string

// The formats that can be read.
const (
	Pcap      Format = "pcap"
	Pcapng    Format = "pcapng"
	MoonSniff Format = "mscap"
)

// Info is what a file says about itself.
type Info struct {
	Format      Format
	Compression Compression
	// LinkType is that of the first interface.
	LinkType LinkType
	// Resolution is that of the first interface.
	Resolution Resolution
	BigEndian  bool
	// SnapLength is the most bytes captured of a packet; 0 for no limit.
	SnapLength uint32
	// Interfaces are those described so far: a pcapng file may describe them anywhere before their
	// first packet. Other formats have one.
	Interfaces []Interface
}

// Interface is a capturing interface.
type Interface struct {
	Name       string
	LinkType   LinkType
	Resolution Resolution
	SnapLength uint32
	// Mislabelled is true for a pcap file with nanoseconds whose header says microseconds.
	Mislabelled bool
	// FCSBytes is the length of the frame check sequence at the end of each packet; 0: none, or unknown.
	FCSBytes int
	// Dropped is how many packets the capturing tool reports as lost, as far as the file has been
	// read: in the interface's statistics, or with the packets.
	Dropped uint64
	// StartNs and EndNs are when the capture began and ended, by its statistics; 0: unknown.
	StartNs, EndNs int64
}

// Seen is what was noticed about the packets read so far.
type Seen struct {
	Packets uint64
	// Short is the number of truncated packets.
	Short uint64
	// Backwards is the number of packets with an earlier time than the packet before, and
	// LargestBackwardsNs the largest such step: the clock was set, or the tool merges several
	// queues.
	Backwards          uint64
	LargestBackwardsNs int64
	// FirstNs and LastNs are the times of the first and the last packet.
	FirstNs, LastNs int64
	// Untimed is the number of packets without a time (NoTime).
	Untimed uint64
}

// batchPackets is how many packets Next buffers.
const batchPackets = 256

// Reader reads the packets of a file in file order.
type Reader struct {
	source *source
	// moonSniff makes a file without a magic number MoonSniff's.
	moonSniff bool
	window    window
	info      Info
	seen      Seen
	damage    *Damage
	failure   error // beyond which reading makes no sense
	done      bool
	read      uint64                      // packets, chosen or not
	chooser   *chooser                    // nil: all packets
	parts     *parts                      // nil: one file
	parse     func(*Reader, []Packet) int // fills in packets from the window; 0 at the end

	pcap   pcapState
	pcapng pcapngState
	marks  []mark // in order

	stock     []Packet
	stockAt   int
	stockHave int
}

// Open opens a capture. Its errors have exit code 2 if the file is at fault.
func Open(path string) (*Reader, error) { return open(path, false) }

// OpenMoonSniff opens a MoonSniff file of any name. It still recognises pcap and pcapng.
func OpenMoonSniff(path string) (*Reader, error) { return open(path, true) }

func open(path string, moonSniff bool) (*Reader, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{source: s, moonSniff: moonSniff}
	if err := r.begin(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return r, nil
}

// begin reads the file header.
func (r *Reader) begin() error {
	r.info = Info{Compression: r.source.compression}
	r.seen, r.damage, r.failure, r.done, r.read = Seen{}, nil, nil, false, 0
	r.stockAt, r.stockHave = 0, 0
	return r.beginFile()
}

// beginFile reads the header of a file, which may be one of several.
func (r *Reader) beginFile() error {
	r.window.reset(r.source.stream)
	r.window.need(pcapHeadBytes)
	head := r.window.data[:r.window.end]
	switch err := r.window.err; {
	case r.source.raw.err != nil:
		return fmt.Errorf("read %s: %w", r.source.path, r.source.raw.err)
	case len(head) == 0 && err != nil && !errors.Is(err, io.EOF):
		return r.source.notCompressed(err)
	case isPcap(head):
		return r.beginPcap()
	case isPcapng(head):
		return r.beginPcapng()
	case r.moonSniff || moonSniffName(r.source.path):
		return r.beginMoonSniff()
	}
	return r.notCapture()
}

// Rewind goes back to the first packet.
func (r *Reader) Rewind() error {
	if err := errors.Join(r.again(), r.source.start()); err != nil {
		return err
	}
	return r.begin()
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.parts != nil && r.source != r.parts.first {
		return errors.Join(r.source.close(), r.parts.first.close())
	}
	return r.source.close()
}

// Info returns what is known about the file so far.
func (r *Reader) Info() Info { return r.info }

// Seen returns what was noticed about the packets so far.
func (r *Reader) Seen() Seen { return r.seen }

// Damage returns what was lost, once Next or NextBatch has returned io.EOF; nil if the file is
// undamaged. Of several files it is the first damage, with the number of further ones.
func (r *Reader) Damage() *Damage {
	if r.parts == nil || len(r.parts.damages) == 0 {
		return r.damage
	}
	d := *r.parts.damages[0]
	d.Further = len(r.parts.damages) - 1
	return &d
}

// Progress returns the bytes read, and the size of all files.
func (r *Reader) Progress() (done, size int64) {
	if p := r.parts; p != nil {
		return p.before + r.source.raw.done, p.size
	}
	return r.source.raw.done, r.source.size
}

// Next returns the next packet; io.EOF after the last readable one.
func (r *Reader) Next() (Packet, error) {
	if r.stockAt == r.stockHave {
		if r.stock == nil {
			r.stock = make([]Packet, batchPackets)
		}
		n, err := r.NextBatch(r.stock)
		if err != nil {
			return Packet{}, err
		}
		r.stockAt, r.stockHave = 0, n
	}
	p := r.stock[r.stockAt]
	r.stockAt++
	return p, nil
}

// NextBatch fills out from the start and returns the number of packets, at least one; io.EOF after
// the last readable one. Their Data is valid until the next call. Use either NextBatch or Next, not
// both.
func (r *Reader) NextBatch(out []Packet) (int, error) {
	for !r.done && len(out) > 0 {
		r.mark()
		n := r.parse(r, out)
		if n == 0 {
			r.done = r.failure != nil || !r.next()
			continue
		}
		first := r.read + 1
		r.read += uint64(n)
		if r.chooser != nil {
			if n, r.failure = r.choose(out[:n], first); r.failure != nil {
				return 0, r.failure
			}
			if n == 0 {
				continue
			}
			first = 0 // they have numbers
		}
		r.notice(out[:n], first)
		return n, nil
	}
	if r.failure != nil {
		return 0, r.failure
	}
	if r.source.raw.err != nil {
		return 0, fmt.Errorf("read %s: %w", r.source.path, r.source.raw.err)
	}
	return 0, io.EOF
}

// notice checks the times and lengths of packets, and numbers them if first is not 0.
func (r *Reader) notice(packets []Packet, first uint64) {
	last, short, backwards := r.seen.LastNs, r.seen.Short, r.seen.Backwards
	if r.seen.Packets == r.seen.Untimed { // none with a time yet
		last = NoTime
	}
	for i := range packets {
		p := &packets[i]
		if first > 0 {
			p.Number = first + uint64(i)
		}
		if int(p.Length) > len(p.Data) {
			short++
		}
		switch {
		case p.TimeNs == NoTime:
			r.seen.Untimed++
			continue
		case p.TimeNs < last:
			backwards++
			r.seen.LargestBackwardsNs = max(r.seen.LargestBackwardsNs, last-p.TimeNs)
		case last == NoTime:
			r.seen.FirstNs = p.TimeNs
		}
		last = p.TimeNs
	}
	if last != NoTime {
		r.seen.LastNs = last
	}
	r.seen.Short, r.seen.Backwards = short, backwards
	r.seen.Packets += uint64(len(packets))
}

// broken stops reading at the next unused byte.
func (r *Reader) broken(reason, remedy string) int {
	r.damage = &Damage{Packets: r.read, Offset: r.window.offset(), LostBytes: -1, Reason: reason, Remedy: remedy}
	if r.source.compression == Plain {
		r.damage.LostBytes = r.source.size - r.window.offset()
	}
	return 0
}

// cut stops reading where the capture ends in the middle of something.
func (r *Reader) cut(what string) int {
	if r.source.raw.err != nil {
		return 0 // NextBatch reports it
	}
	if err := r.window.err; err != nil && !errors.Is(err, io.EOF) {
		return r.brokenCompression(err)
	}
	return r.broken("the file is truncated in "+what, "")
}

// brokenCompression stops reading where decompression failed.
func (r *Reader) brokenCompression(err error) int {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.broken(fmt.Sprintf("the %s data are truncated", r.source.compression), "")
	}
	if errors.Is(err, errExpands) {
		return r.broken(fmt.Sprintf("the %s data are truncated here: %v", r.source.compression, err),
			fmt.Sprintf("if you trust the file, decompress it with %s -d, and read the capture in it", r.source.compression))
	}
	return r.broken(fmt.Sprintf("the %s data are damaged (%v)", r.source.compression, err), "")
}

// ended stops reading at the end of the capture.
func (r *Reader) ended() int {
	if r.source.raw.err == nil && !errors.Is(r.window.err, io.EOF) {
		return r.brokenCompression(r.window.err)
	}
	return 0
}
