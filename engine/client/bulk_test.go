package client

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// section is a section of bulk data.
type section struct {
	kind, stream uint32
	content      []byte
}

func packBulk(version uint32, sections ...section) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(bulkMagic), version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(sections)))
	for _, s := range sections {
		b = binary.LittleEndian.AppendUint32(b, s.kind)
		b = binary.LittleEndian.AppendUint32(b, s.stream)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s.content)))
		b = append(b, s.content...)
	}
	return b
}

func numbers(all ...int64) []byte {
	var b []byte
	for _, n := range all {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func packet(id, stream uint32, txCPU, rxCPU int32, times ...int64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, id)
	b = binary.LittleEndian.AppendUint32(b, stream)
	b = binary.LittleEndian.AppendUint32(b, uint32(txCPU))
	b = binary.LittleEndian.AppendUint32(b, uint32(rxCPU))
	for _, t := range times {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	return b
}

// goodSections are of a trial of two streams: 9 latencies, of which 3 are the second stream's.
func goodSections() []section {
	return []section{
		{bulkLatency, bulkAllStreams, numbers(-1, 4, -1, 5)},
		{bulkFromTx, bulkAllStreams, nil},
		{bulkSendLag, bulkAllStreams, nil},
		{bulkSpacing, bulkAllStreams, nil},
		{bulkLatency, 1, numbers(-3, 3)},
		{bulkLatencyBlock, bulkAllStreams, numbers(-1, 4, -1, 5)},
		{bulkOutliers, bulkAllStreams, packet(7, 1, 0, -1, 3, 2, 1, -10, -9, -7, 4)},
		{bulkOrdinary, bulkAllStreams, nil},
		{bulkInterruptions, 0, numbers(-50, 20, 0, 1000, 30, 10)},
	}
}

func goodBulk() []byte { return packBulk(bulkVersion, goodSections()...) }

// head is the rest of the answer that goodSections are of.
func head() *TrialResult {
	r := &TrialResult{Streams: []StreamResult{{Name: "a"}, {Name: "b", Latency: Histogram{Count: 3}}}}
	r.Latency.Count, r.LatencyBlocks.Count, r.Interruptions.Count = 9, 1, 2
	return r
}

func TestBulkDataIsAddedToTheAnswer(t *testing.T) {
	r := head()
	if err := r.unpack(goodBulk()); err != nil {
		t.Fatal(err)
	}
	if want := [][2]int64{{1, 4}, {3, 5}}; !slices.Equal(r.Latency.Counts, want) {
		t.Errorf("latency %v, want %v", r.Latency.Counts, want)
	}
	if want := [][2]int64{{3, 3}}; r.Streams[0].Latency.Counts != nil || !slices.Equal(r.Streams[1].Latency.Counts, want) {
		t.Errorf("streams %+v, want %v in the second", r.Streams, want)
	}
	if want := [][]int64{{1, 4, 3, 5}}; !reflect.DeepEqual(r.LatencyBlocks.Counts, want) {
		t.Errorf("blocks %v, want %v", r.LatencyBlocks.Counts, want)
	}
	if want := []Interruption{{-50, 20, 0}, {950, 30, 10}}; !slices.Equal(r.Interruptions.List, want) {
		t.Errorf("interruptions %v, want %v", r.Interruptions.List, want)
	}
	if len(r.Ordinary) != 0 {
		t.Errorf("ordinary %v", r.Ordinary)
	}
}

// with are goodSections with another content of one.
func with(at int, content []byte) []byte {
	sections := goodSections()
	sections[at].content = content
	return packBulk(bulkVersion, sections...)
}

func TestWrongBulkDataIsRefused(t *testing.T) {
	good := goodBulk()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"none":                {nil, "latency has 0 of 9 counts"},
		"something else":      {[]byte("PK\x03\x04 and so on, and so on"), "does not begin with NINESBLK"},
		"only a header":       {good[:15], "does not begin with NINESBLK"},
		"a newer version":     {packBulk(2), "version 2"},
		"cut in a section":    {good[:len(good)-20], "section 9 of 9: it is cut off"},
		"cut before one":      {good[:20], "section 1 of 9: it is cut off"},
		"something behind":    {append(bytes.Clone(good), 0), "1 bytes come after"},
		"an unknown kind":     {packBulk(1, section{99, bulkAllStreams, nil}), "kind 99 is unknown"},
		"a section twice":     {packBulk(1, section{2, bulkAllStreams, nil}, section{2, bulkAllStreams, nil}), "a second one of kind 2"},
		"another stream":      {packBulk(1, section{bulkLatency, 2, nil}), "kind 1 of stream 2"},
		"a kind of no stream": {packBulk(1, section{bulkSpacing, 0, nil}), "kind 4 of stream 0"},
		"too few sections":    {packBulk(1, goodSections()[:4]...), "the latency of stream b has 0 of 3"},
		"nobody's list":       {packBulk(1, section{bulkInterruptions, 1, nil}), "kind 8 of stream 1"},
		"half a list":         {with(8, numbers(-50, 20, 0)), "1 of 2 interruptions"},
		"part of a list":      {with(8, numbers(-50, 20, 0, 1000)), "an interruption is cut off"},
		"no block":            {packBulk(1, goodSections()[:5]...), "0 of 1 blocks"},
		"too few counts":      {with(0, numbers(-1, 4)), "latency has 4 of 9 counts"},
		"half a number":       {with(0, []byte{0x80}), "cut off or too large"},
		"a huge number":       {with(0, bytes.Repeat([]byte{0xff}, 11)), "cut off or too large"},
		"no zeros":            {with(0, numbers(0)), "stands for nothing"},
		"too many zeros":      {with(0, numbers(-histogramCounts-1)), "stands for nothing"},
		"a count too many":    {with(0, numbers(-histogramCounts, 9)), "more than 27648 counts"},
		"zeros too many":      {with(0, numbers(9, -histogramCounts)), "more than 27648 counts"},
		"half a packet":       {with(6, make([]byte, 71)), "no whole packets"},
		"a packet of nobody":  {with(6, packet(7, 2, 0, 0, make([]int64, 7)...)), "a packet of stream 2, of 2"},
	} {
		err := head().unpack(c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "the engine's bulk data: ") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzBulk: no data may break the reader, and what it takes has all counts.
func FuzzBulk(f *testing.F) {
	f.Add(goodBulk())
	f.Add(packBulk(1))
	f.Add(with(0, numbers(-histogramCounts+1, 9)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := head()
		if r.unpack(data) == nil && len(r.Latency.Counts) == 0 {
			t.Error("taken without latencies")
		}
	})
}
