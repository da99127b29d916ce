package result

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

func writeEvents(out io.Writer, events []Event) error {
	w := parquet.NewGenericWriter[Event](out,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		// They are ordered by begin.
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
		parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.KeyValueMetadata(parquetSchemaKey, EventsSchema),
	)
	_, err := w.Write(events)
	return errors.Join(err, w.Close())
}

// mostEvents limits the memory for reading them: eight times what a trace keeps (recordsLimit in
// measure/trace).
const mostEvents = 1 << 22

// Events reads events.parquet: what happened on the CPUs around the packets of outliers.csv and
// ordinary.csv, ordered by begin. It returns fs.ErrNotExist if the trial was not traced.
func (f Folder) Events() ([]Event, error) { return f.eventsUpTo(mostEvents) }

func (f Folder) eventsUpTo(most int) (events []Event, err error) {
	_, err = readParquet(f, EventsFile, []string{EventsSchema}, func(rows []Event) error {
		if events = append(events, rows...); len(events) > most {
			return fmt.Errorf("it has more than %d events, the limit", most)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// Ordinary reads ordinary.csv: randomly picked packets, in the form of Outliers. It returns
// fs.ErrNotExist if the trial was not traced.
func (f Folder) Ordinary() ([]Outlier, error) {
	return readFolderFile(f, OrdinaryFile, readOutliers)
}
