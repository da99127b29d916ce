package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

func writeEvents(out io.Writer, events []Event) error {
	w := parquet.NewGenericWriter[Event](out,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		// They are ordered by begin.
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
		parquet.MaxRowsPerRowGroup(packetsPerGroup),
		parquet.KeyValueMetadata(packetsSchemaKey, EventsSchema),
	)
	_, err := w.Write(events)
	return errors.Join(err, w.Close())
}

// Events reads events.parquet: what happened on the CPUs around the packets of outliers.csv and
// ordinary.csv, ordered by begin. It returns fs.ErrNotExist if the trial was not traced.
func (f Folder) Events() (events []Event, err error) {
	below, path, err := f.Path(EventsFile)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", below, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if events, err = readEvents(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = f.broken(EventsFile, err)
	}
	return events, err
}

func readEvents(file *os.File) (_ []Event, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	opened, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return nil, err
	}
	if schema, _ := opened.Lookup(packetsSchemaKey); schema != EventsSchema {
		return nil, fmt.Errorf("its schema is %q, not %q", schema, EventsSchema)
	}
	r := parquet.NewGenericReader[Event](opened)
	defer func() { err = errors.Join(err, r.Close()) }()
	var events []Event
	rows := make([]Event, 4096)
	for {
		n, err := r.Read(rows)
		events = append(events, rows[:n]...)
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Ordinary reads ordinary.csv: randomly picked packets, in the form of Outliers. It returns
// fs.ErrNotExist if the trial was not traced.
func (f Folder) Ordinary() ([]Outlier, error) {
	return readFolderFile(f, OrdinaryFile, readOutliers)
}
