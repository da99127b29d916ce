package synthetic

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/analyze/packetfile"
)

// WritePair writes a pair of captures to two files, compressed if the name ends in .gz or .zst.
func WritePair(c Config, prePath string, pre packetfile.Layout, postPath string, post packetfile.Layout) (truth Truth, err error) {
	preWriter, closePre, err := create(prePath, pre)
	if err != nil {
		return Truth{}, err
	}
	defer func() { err = errors.Join(err, closePre()) }()
	postWriter, closePost, err := create(postPath, post)
	if err != nil {
		return Truth{}, err
	}
	defer func() { err = errors.Join(err, closePost()) }()
	return Generate(c, preWriter, postWriter)
}

// create opens a capture file for writing; the second result finishes it.
func create(path string, layout packetfile.Layout) (*packetfile.Writer, func() error, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, fmt.Errorf("write a capture: %w", err)
	}
	var out io.Writer = file
	compressor := func() error { return nil }
	switch {
	case strings.HasSuffix(path, ".gz"):
		z := gzip.NewWriter(file)
		out, compressor = z, z.Close
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewWriter(file)
		if err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
		out, compressor = z, z.Close
	}
	w, err := packetfile.NewWriter(out, layout)
	if err != nil {
		return nil, nil, errors.Join(err, compressor(), file.Close())
	}
	return w, func() error { return errors.Join(w.Flush(), compressor(), file.Close()) }, nil
}
