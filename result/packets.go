package result

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// PacketsSchema names the format of packets.parquet, in its metadata under the key "schema". It differs
// from packetsSchemaV1 in where PollGapNs begins.
const (
	PacketsSchema   = "nines/packets/v2"
	packetsSchemaV1 = "nines/packets/v1"
)

// packetsCompleteKey is the key in its metadata of whether all packets have a row.
const packetsCompleteKey = "complete"

// Packet is a row of packets.parquet: one sent packet. Times are nanoseconds since the first
// measured packet was due.
type Packet struct {
	ID         uint32 `parquet:"id"`
	Flow       uint32 `parquet:"flow"`
	IntendedNs int64  `parquet:"intended_ns"`
	TxNs       int64  `parquet:"tx_ns"`
	// The following fields are nil if the packet was not received. LatencyNs is receive − intended
	// send, as in the summary.
	RxNs      *int64 `parquet:"rx_ns,optional"`
	LatencyNs *int64 `parquet:"latency_ns,optional"`
	// PollGapNs is the time since the receiver's previous look began, without sleeps; in
	// packetsSchemaV1, since it ended.
	PollGapNs *uint32 `parquet:"poll_gap_ns,optional"`
	// Arrival is its place in the order of arrival, from 0, also for packets with equal receive
	// times.
	Arrival *uint32 `parquet:"arrival,optional"`
	// Duplicates is how often it was received again.
	Duplicates uint32 `parquet:"duplicates"`
}

// Packets are the rows of packets.parquet to write, in send order.
type Packets struct {
	// Complete is true if every sent packet has a row, with a receive time for every received
	// packet.
	Complete bool
	// Batches passes some rows at a time to write, valid until the next call, and stops at the
	// first error from write.
	Batches func(write func([]Packet) error) error
}

func writePackets(out io.Writer, packets *Packets) error {
	w := parquet.NewGenericWriter[Packet](out,
		// The fastest level: a recording is long, and its deltas are small already.
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		// Times and ids rise in nearly equal steps.
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
		parquet.DefaultEncodingFor(parquet.Int32, &parquet.DeltaBinaryPacked),
		parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.KeyValueMetadata(parquetSchemaKey, PacketsSchema),
		parquet.KeyValueMetadata(packetsCompleteKey, strconv.FormatBool(packets.Complete)),
	)
	err := packets.Batches(func(rows []Packet) error {
		_, err := w.Write(rows)
		return err
	})
	return errors.Join(err, w.Close())
}

// WhyNoPackets says why a trial that recorded its packets has no packets.parquet; empty if it recorded none.
func (f Folder) WhyNoPackets() string {
	details, err := f.Details()
	if err != nil || details.Recording == nil {
		return ""
	}
	return strings.Join(details.Recording.Problems, "; ")
}

// Packets reads packets.parquet: visit gets some rows at a time, valid until it returns. It returns
// whether the recording is complete, and fs.ErrNotExist if the packets were not recorded, or not kept (WhyNoPackets).
func (f Folder) Packets(visit func([]Packet) error) (complete bool, err error) {
	lookup, err := readParquet(f, PacketsFile, []string{PacketsSchema, packetsSchemaV1}, visit)
	if err != nil {
		return false, err
	}
	text, _ := lookup(packetsCompleteKey)
	return text == "true", nil
}
