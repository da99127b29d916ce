package analyze

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

// entry is a packet's key and its place in times.
type entry struct {
	hi uint64
	lo uint32
	at uint32
}

// Times in this range, 1896 to 2116, can be subtracted from each other without overflow, even with
// an offset added; pcap's own end in 2106.
const (
	minTimeNs = -1 << 61
	maxTimeNs = 1 << 62
	maxOffset = 1 << 59 // 18 years
)

// Entries are kept in chunks, so that all partitions can grow in one column.
const (
	chunkEntries = 256
	batchPackets = 512
)

// side is one capture in memory.
type side struct {
	path   string
	reader *packetfile.Reader
	damage *packetfile.Damage
	seen   packetfile.Seen
	sample sample
	// offsetNs is added to the file's times; cut rounds them then, if it is set.
	offsetNs  int64
	cut       func(ns int64) int64
	times     column[int64]
	count     int
	unkeyed   uint64               // have a time but no entry
	unkeyedOf map[endpoints]uint64 // by hosts
	flows     *flowTable
	length    lengths
	remarks   []packetfile.Remark
	// gaps are where packets of the file have no place here.
	gaps gaps
	// places are the interfaces of the packets.
	places places
	// untimed are the keys of packets without a time, by partition.
	untimed map[uint64][]entry
	// rank maps a packet's place in the file to its place in time order, and file the reverse; nil
	// if the file is in order.
	rank, file []uint32
	// mixed is whether sortTimes has moved times, so that a time's place is not its packet's in the file.
	mixed bool

	shift   uint // of a hash, to its partition
	entries column[entry]
	used    int        // entries in allocated chunks
	chunks  [][]uint32 // of each partition, by its first entry
	next    []uint32   // next place in each partition; a multiple of chunkEntries needs a chunk
}

// begin makes a side ready to load.
func (s *side) begin(partitionBits uint, flows *flowTable) {
	n := 1 << partitionBits
	s.shift, s.chunks, s.next, s.flows = 64-partitionBits, make([][]uint32, n), make([]uint32, n), flows
	s.unkeyedOf = make(map[endpoints]uint64)
}

// timesNs returns the times of all packets.
func (s *side) timesNs() []int64 { return s.times.all[:s.count] }

// packets counts also those without a time.
func (s *side) packets() int64 { return int64(s.count) + int64(s.seen.Untimed) }

// loading says how to read a capture.
type loading struct {
	extract *extractor
	room    *allowance // of both captures
	// progress receives the bytes read and the total.
	progress func(done, size int64)
}

// load reads the whole capture.
func (s *side) load(ctx context.Context, l loading) error {
	batch := make([]packetfile.Packet, batchPackets)
	for {
		n, err := s.reader.NextBatch(batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.take(batch[:n], l)
		}
		if err != nil {
			return err
		}
		l.progress(s.reader.Progress())
	}
	s.seen, s.damage, s.remarks = s.reader.Seen(), s.reader.Damage(), s.reader.Remarks()
	return nil
}

func (s *side) take(batch []packetfile.Packet, l loading) error {
	if uint64(s.count)+uint64(len(batch)) >= math.MaxUint32 {
		return exit.Wrongf("%s: has more than %d packets; split it with editcap -c, and evaluate the parts", s.path, uint32(math.MaxUint32))
	}
	if err := l.room.take(s.path, len(batch)); err != nil {
		return err
	}
	if err := s.times.reserve(s.count + len(batch)); err != nil {
		return err
	}
	// Each packet needs at most one new chunk.
	if err := s.entries.reserve(s.used + chunkEntries*len(batch)); err != nil {
		return err
	}
	if err := s.flows.reserve(s.count + len(batch)); err != nil {
		return err
	}
	interfaces := s.reader.Info().Interfaces
	times, count, before := s.times.all, s.count, s.gaps.before()
	for i := range batch {
		p := &batch[i]
		link := interfaces[p.Interface].LinkType
		plain := plainnessOf(link, p.Data)
		key, ok := l.extract.of(plain, link, p.Data)
		if plain == notPlain && interfaces[p.Interface].FCSBytes > 0 { // the others have a length
			key, ok = l.extract.of(plain, link, withoutFCS(&interfaces[p.Interface], p))
		}
		if p.TimeNs < minTimeNs || p.TimeNs > maxTimeNs {
			if p.TimeNs != packetfile.NoTime {
				return exit.Wrongf("%s: packet %d has a time %d s from 1970, which no capture has; remove it with editcap -A and -B, or capture again", s.path, p.Number, p.TimeNs/1e9)
			}
			s.leaveOut(key, ok)
			continue
		}
		s.length.see(p.Length)
		if now := p.Number - 1 - uint64(count); now != before {
			before = now
			s.gaps = append(s.gaps, gap{uint32(count), before})
		}
		times[count] = p.TimeNs + s.offsetNs
		if link != packetfile.Ethernet || len(interfaces) > 1 {
			s.places.see(count, interfaces, p)
		}
		if plain == notPlain || !s.flows.cached(count, plain, p.Data) {
			s.flows.take(count, plain, link, p.Data)
		}
		if plain == plainTCP {
			s.flows.addLoad(count, plainLoad(p.Data))
		} else if plain == notPlain {
			if f := dissect(link, p.Data); f.proto == protoTCP && f.payload > 0 {
				s.flows.addLoad(count, f.tcpLoad(int(p.Length)))
			}
		}
		if ok {
			if key.hi&s.sample.mask == 0 {
				s.sample.take(key, link, p.Data)
			}
			s.put(key.hi>>s.shift, entry{key.hi, key.lo, uint32(count)})
		} else {
			s.unkeyed++
			s.unkeyedOf[s.flows.endpointsAt(s.flows.of.all[count]).hosts()]++
		}
		count++
	}
	s.count = count
	return nil
}

// withoutFCS is a packet without its frame check sequence, which one capture may have alone. Packets
// that do not say how long they are cannot be cut otherwise.
func withoutFCS(i *packetfile.Interface, p *packetfile.Packet) []byte {
	if i.FCSBytes == 0 || int(p.Length) > len(p.Data) || len(p.Data) < i.FCSBytes {
		return p.Data
	}
	return p.Data[:len(p.Data)-i.FCSBytes]
}

// leaveOut remembers only the key of a packet without a time, so that its other one is not lost.
func (s *side) leaveOut(key hash96, ok bool) {
	if !ok {
		return
	}
	if s.untimed == nil {
		s.untimed = make(map[uint64][]entry)
	}
	part := key.hi >> s.shift
	s.untimed[part] = append(s.untimed[part], entry{hi: key.hi, lo: key.lo})
}

// put appends an entry to its partition. There must be room for it and for a chunk.
func (s *side) put(part uint64, e entry) {
	at := s.next[part]
	if at%chunkEntries == 0 {
		at = uint32(s.used)
		s.used += chunkEntries
		s.chunks[part] = append(s.chunks[part], at)
	}
	s.entries.all[at] = e
	s.next[part] = at + 1
}

// partition calls do with a partition's entries in file order, piece by piece; first is the place
// of the first one.
func (s *side) partition(part int, do func(first uint32, entries []entry)) {
	chunks := s.chunks[part]
	for i, first := range chunks {
		end := first + chunkEntries
		if i == len(chunks)-1 {
			end = s.next[part]
		}
		do(first, s.entries.all[first:end])
	}
}

// partitionCount returns the number of entries of a partition.
func (s *side) partitionCount(part int) int {
	n := len(s.chunks[part])
	if n == 0 {
		return 0
	}
	return (n-1)*chunkEntries + int(s.next[part]-s.chunks[part][n-1])
}

// number is the number of a packet in the file, from 1.
func (s *side) number(packet uint32) uint64 {
	if s.file != nil {
		packet = s.file[packet]
	}
	return s.gaps.number(packet)
}

// order sorts the packets by time, if the file is not: several queues captured, or a clock was set.
// Packets with equal times keep their order.
func (s *side) order() {
	times := s.timesNs()
	if slices.IsSorted(times) {
		return
	}
	s.file = make([]uint32, len(times))
	for i := range s.file {
		s.file[i] = uint32(i)
	}
	slices.SortFunc(s.file, func(a, b uint32) int {
		switch x, y := times[a], times[b]; {
		case x < y || x == y && a < b:
			return -1
		default:
			return 1
		}
	})
	s.rank = make([]uint32, len(times))
	for place, file := range s.file {
		s.rank[file] = uint32(place)
	}
	slices.Sort(times)
	for part := range s.chunks {
		s.partition(part, func(_ uint32, entries []entry) {
			for i := range entries {
				entries[i].at = s.rank[entries[i].at]
			}
		})
	}
	s.flows.order(s.file)
	s.places.order(s.file)
}

// sortTimes sorts only the times, once nothing refers to packets.
func (s *side) sortTimes() {
	if times := s.timesNs(); !slices.IsSorted(times) {
		s.mixed = true
		slices.Sort(times)
	}
}

// lengths tracks whether all packets have the same length.
type lengths struct {
	first       uint32
	any, differ bool
}

func (l *lengths) see(n uint32) {
	if n != l.first {
		l.differ = l.differ || l.any
		l.first = n
	}
	l.any = true
}

func (l *lengths) same() uint32 {
	if l.differ {
		return 0
	}
	return l.first
}

// freeEntries frees what matching needed.
func (s *side) freeEntries() {
	s.entries.free()
	s.chunks, s.next = nil, nil
	s.rank = nil
}

// free frees everything.
func (s *side) free() {
	s.freeEntries()
	s.times.free()
	if s.flows != nil {
		s.flows.free()
	}
	s.file = nil
}
