package guestimage

import (
	"bufio"
	"io"
	"path"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"
)

// program is the cpio record of an executable file, after those of the folders above it,
// which an archive has once.
func program(name string, data []byte) []cpio.Record {
	name = strings.TrimPrefix(path.Clean(name), "/")
	var records []cpio.Record
	for i, c := range name {
		if c == '/' {
			records = append(records, cpio.Directory(name[:i], 0o755))
		}
	}
	return append(records, cpio.StaticFile(name, string(data), 0o755))
}

// writeArchive writes an initramfs. It is not compressed: decompression would cost a
// translated guest more than reading does.
func writeArchive(w io.Writer, records []cpio.Record) error {
	buffer := bufio.NewWriterSize(w, 1<<20)
	archive := cpio.Newc.Writer(buffer)
	if err := cpio.WriteRecords(archive, records); err != nil {
		return err
	}
	if err := cpio.WriteTrailer(archive); err != nil {
		return err
	}
	return buffer.Flush()
}
