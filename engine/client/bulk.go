package client

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The layout of bulk data (docs/reference/engine-protocol.md).
const (
	bulkMagic        = "NINESBLK"
	bulkVersion      = 1
	bulkHeaderBytes  = 16
	bulkSectionBytes = 16
	bulkPacketBytes  = 72
	bulkAllStreams   = 1<<32 - 1
	// histogramCounts is HdrHistogram's for 1 ns to 60 s at 3 significant digits.
	histogramCounts = 27 * 1024
)

// The kinds of its sections.
const (
	bulkLatency = 1 + iota
	bulkFromTx
	bulkSendLag
	bulkSpacing
	bulkLatencyBlock
	bulkOutliers
	bulkOrdinary
	bulkInterruptions
)

// bulkReader takes bulk data apart, into a result and threads' lists that have the rest of the answer.
type bulkReader struct {
	result *TrialResult
	lists  []*Interruptions
	rest   []byte
	had    map[[2]uint32]bool // by kind and stream
}

// unpack adds the bulk data to the rest of the answer. It is an error if the two do not agree.
func (r *TrialResult) unpack(bulk []byte) error {
	u := bulkReader{result: r, lists: []*Interruptions{&r.Interruptions}, rest: bulk, had: map[[2]uint32]bool{}}
	// An engine that has measured nothing may leave it out.
	if len(bulk) > 0 {
		if err := u.read(); err != nil {
			return fmt.Errorf("the engine's bulk data: %w", err)
		}
	}
	if err := u.agree(); err != nil {
		return fmt.Errorf("the engine's bulk data: %w", err)
	}
	return nil
}

func (u *bulkReader) read() error {
	if len(u.rest) < bulkHeaderBytes || string(u.rest[:8]) != bulkMagic {
		return fmt.Errorf("it does not begin with %s", bulkMagic)
	}
	version, sections := binary.LittleEndian.Uint32(u.rest[8:]), binary.LittleEndian.Uint32(u.rest[12:])
	if version != bulkVersion {
		return fmt.Errorf("it has version %d, and nines reads %d: build both from one version", version, bulkVersion)
	}
	u.rest = u.rest[bulkHeaderBytes:]
	for i := range sections {
		if err := u.section(); err != nil {
			return fmt.Errorf("section %d of %d: %w", i+1, sections, err)
		}
	}
	if len(u.rest) > 0 {
		return fmt.Errorf("%d bytes come after its last section", len(u.rest))
	}
	return nil
}

var errCut = errors.New("it is cut off")

func (u *bulkReader) section() error {
	if len(u.rest) < bulkSectionBytes {
		return errCut
	}
	kind, stream := binary.LittleEndian.Uint32(u.rest), binary.LittleEndian.Uint32(u.rest[4:])
	bytes := binary.LittleEndian.Uint64(u.rest[8:])
	u.rest = u.rest[bulkSectionBytes:]
	if bytes > uint64(len(u.rest)) {
		return errCut
	}
	content := u.rest[:bytes]
	u.rest = u.rest[bytes:]
	if u.had[[2]uint32{kind, stream}] && kind != bulkLatencyBlock {
		return fmt.Errorf("a second one of kind %d and stream %d", kind, stream)
	}
	u.had[[2]uint32{kind, stream}] = true
	if !u.may(kind, stream) {
		return fmt.Errorf("kind %d of stream %d", kind, stream)
	}
	return u.take(kind, stream, content)
}

// may reports whether there is such a stream, or thread, of a kind.
func (u *bulkReader) may(kind, stream uint32) bool {
	switch {
	case kind == bulkInterruptions:
		return stream < uint32(len(u.lists))
	case kind == bulkLatency && stream != bulkAllStreams:
		return stream < uint32(len(u.result.Streams))
	}
	return stream == bulkAllStreams
}

func (u *bulkReader) take(kind, stream uint32, content []byte) (err error) {
	r := u.result
	switch kind {
	case bulkLatency:
		to := &r.Latency
		if stream != bulkAllStreams {
			to = &r.Streams[stream].Latency
		}
		to.Counts, err = counts(content)
	case bulkFromTx:
		r.FromTx.Counts, err = counts(content)
	case bulkSendLag:
		r.SendLag.Counts, err = counts(content)
	case bulkSpacing:
		r.Spacing.Counts, err = counts(content)
	case bulkLatencyBlock:
		var block [][2]int64
		block, err = counts(content)
		flat := make([]int64, 0, 2*len(block))
		for _, pair := range block {
			flat = append(flat, pair[0], pair[1])
		}
		r.LatencyBlocks.Counts = append(r.LatencyBlocks.Counts, flat)
	case bulkOutliers:
		r.Outliers, err = u.packets(content)
	case bulkOrdinary:
		r.Ordinary, err = u.packets(content)
	case bulkInterruptions:
		u.lists[stream].List, err = interruptions(content)
	default:
		err = fmt.Errorf("kind %d is unknown", kind)
	}
	return err
}

// counts reads a histogram as pairs of index and count. A negative number stands for so many zeros.
func counts(content []byte) ([][2]int64, error) {
	var pairs [][2]int64
	var index int64
	for len(content) > 0 {
		n, bytes := binary.Varint(content)
		switch {
		case bytes <= 0:
			return nil, errors.New("a number is cut off or too large")
		case n == 0 || n < -histogramCounts:
			return nil, fmt.Errorf("the number %d stands for nothing", n)
		case n < 0:
			index -= n
		case index >= histogramCounts:
			return nil, fmt.Errorf("more than %d counts", histogramCounts)
		default:
			pairs = append(pairs, [2]int64{index, n})
			index++
		}
		if index > histogramCounts {
			return nil, fmt.Errorf("more than %d counts", histogramCounts)
		}
		content = content[bytes:]
	}
	return pairs, nil
}

// packets reads rows as TrialResult has them.
func (u *bulkReader) packets(content []byte) ([][11]int64, error) {
	if len(content)%bulkPacketBytes != 0 {
		return nil, fmt.Errorf("%d bytes are no whole packets", len(content))
	}
	rows := make([][11]int64, 0, len(content)/bulkPacketBytes)
	for ; len(content) > 0; content = content[bulkPacketBytes:] {
		long := func(i int) int64 { return int64(binary.LittleEndian.Uint64(content[16+8*i:])) }
		cpu := func(at int) int64 { return int64(int32(binary.LittleEndian.Uint32(content[at:]))) }
		id, stream := binary.LittleEndian.Uint32(content), binary.LittleEndian.Uint32(content[4:])
		if stream >= uint32(len(u.result.Streams)) {
			return nil, fmt.Errorf("a packet of stream %d, of %d", stream, len(u.result.Streams))
		}
		rows = append(rows, [11]int64{
			int64(id), int64(stream), long(0), long(1), long(2), long(3), long(4), long(5), long(6), cpu(8), cpu(12),
		})
	}
	return rows, nil
}

// agree checks that all counts are there.
func (u *bulkReader) agree() error {
	r := u.result
	for _, h := range []struct {
		name string
		of   Histogram
	}{{"latency", r.Latency}, {"from_tx", r.FromTx}, {"send_lag", r.SendLag}, {"spacing", r.Spacing}} {
		if err := h.of.agree(h.name); err != nil {
			return err
		}
	}
	for _, s := range r.Streams {
		if err := s.Latency.agree("the latency of stream " + s.Name); err != nil {
			return err
		}
	}
	if len(r.LatencyBlocks.Counts) != r.LatencyBlocks.Count {
		return fmt.Errorf("%d of %d blocks of time", len(r.LatencyBlocks.Counts), r.LatencyBlocks.Count)
	}
	return u.listsAgree()
}

func (h Histogram) agree(name string) error {
	var sum uint64
	for _, c := range h.Counts {
		sum += uint64(c[1])
	}
	if sum != h.Count {
		return fmt.Errorf("%s has %d of %d counts", name, sum, h.Count)
	}
	return nil
}
