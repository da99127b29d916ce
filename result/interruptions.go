package result

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// InterruptionsSchema names the format of interruptions.parquet, in its metadata under the key "schema".
const InterruptionsSchema = "nines/interruptions/v1"

// Interruptions is what of a trial's interruptions its witnesses could tell. interruptions.parquet lists them.
type Interruptions struct {
	// Witnesses are those who told of them, each of a thread or a CPU on the packets' way.
	Witnesses []Witness `json:"witnesses"`
	// Unseen are the parts of the packets' way that had no witness, and why.
	Unseen []string `json:"unseen,omitempty"`
}

// Witness is who told of the interruptions of one thread, or of one CPU.
type Witness struct {
	// Thread is "loop", "generate", "sink", "forward dut", "switch LINK 1"; for what a CPU tells, "CPU 1".
	Thread string `json:"thread"`
	// Node is where the thread runs; empty between the nodes.
	Node string `json:"node,omitempty"`
	CPU  int    `json:"cpu"` // -1: not pinned
	// By is who noticed: the thread's "loop" itself, the kernel's "scheduler", its handling of a "softirq", or a "timer".
	By string `json:"by"`
	// Count is the number of its rows in interruptions.parquet, TotalNs the sum of their lengths.
	Count   uint64 `json:"count"`
	TotalNs int64  `json:"total_ns"`
	// ThresholdNs is the length from which every interruption is listed, but in a twentieth of its loop's time at most:
	// turns with many packets take longer, and details.json has all kinds.
	ThresholdNs int64 `json:"threshold_ns"`
	// UnlistedNs is by how much turns longer than twice the shortest of their kind, that are not listed, exceed that:
	// shorter interruptions may be in them. Those that make up for an interruption before them do not count.
	UnlistedNs int64 `json:"unlisted_ns"`
	// Overflow is the number of interruptions for which its list had no room.
	Overflow uint64 `json:"overflow"`
}

// Who notices interruptions.
const (
	ByLoop      = "loop"
	ByScheduler = "scheduler"
	BySoftirq   = "softirq"
	ByTimer     = "timer"
)

// Interruption is a row of interruptions.parquet.
type Interruption struct {
	// Thread, Node and CPU are those of its Witness.
	Thread string `parquet:"thread,dict"`
	Node   string `parquet:"node,dict"`
	CPU    int32  `parquet:"cpu"`
	// Kind is how it was told: "turn 2-3 sent" is a turn of a loop with 2 or 3 packets, of which it sent some.
	Kind string `parquet:"kind,dict"`
	// BeginNs counts from when the first measured packet was due, as in packets.parquet.
	BeginNs  int64 `parquet:"begin_ns"`
	LengthNs int64 `parquet:"length_ns"`
}

func writeInterruptions(out io.Writer, rows []Interruption) error {
	w := parquet.NewGenericWriter[Interruption](out,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		// They are ordered by begin.
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
		parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.KeyValueMetadata(parquetSchemaKey, InterruptionsSchema),
	)
	_, err := w.Write(rows)
	return errors.Join(err, w.Close())
}

// mostInterruptions limits the memory for reading them: more than the witnesses of sixteen threads have room for.
const mostInterruptions = 1 << 24

// Interruptions reads interruptions.parquet, ordered by begin. It returns fs.ErrNotExist if the trial has none, as in
// results of before.
func (f Folder) Interruptions() (rows []Interruption, err error) {
	_, err = readParquet(f, InterruptionsFile, []string{InterruptionsSchema}, func(some []Interruption) error {
		if rows = append(rows, some...); len(rows) > mostInterruptions {
			return fmt.Errorf("it has more than %d interruptions, the limit", mostInterruptions)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
