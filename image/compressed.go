package image

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/exit"
)

// The beginnings of compressed files: RFC 1952, RFC 8878, section 2.1.1.1 of the xz format, and
// SQUASHFS_MAGIC in Linux's squashfs_fs.h.
var (
	squashfsMagic = []byte("hsqs")
	gzipMagic     = []byte{0x1f, 0x8b}
	zstdMagic     = []byte{0x28, 0xb5, 0x2f, 0xfd}
	xzMagic       = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
)

// What a file may demand of memory: zstd's own default, which its highest level needs (128 MiB, --long in
// zstd(1)), and more than xz's highest level does (65 MiB, -9 in xz(1)).
const (
	mostZstdWindow = 128 << 20
	mostXZMemory   = "256MiB"
)

// openTar opens a tar file that may be compressed, or a squashfs file system as one; the content tells by
// what.
func openTar(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	plain, err := decompress(file)
	if err != nil {
		return nil, err
	}
	return &opened{growthOf(info.Size()).reader(plain), plain.Close}, nil
}

// decompress closes the file if it fails.
func decompress(file *os.File) (io.ReadCloser, error) {
	text := bufio.NewReaderSize(file, 1<<20)
	head, err := text.Peek(len(xzMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, file.Close())
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		plain, err := gzip.NewReader(text)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &opened{plain, file.Close}, nil
	case bytes.HasPrefix(head, zstdMagic):
		return openZstd(text, file.Close)
	case bytes.HasPrefix(head, xzMagic):
		return openXZ(text, file.Close)
	case bytes.HasPrefix(head, squashfsMagic):
		return openSquashfs(file.Name(), file.Close)
	}
	return &opened{text, file.Close}, nil
}

// opened is a file that is read through something else.
type opened struct {
	io.Reader
	close func() error
}

func (o *opened) Close() error {
	done := o.close
	o.close = func() error { return nil } // a second Close is none
	return done()
}

// openLayer opens a layer as a plain tar file. The library's own decoder of zstd takes larger windows.
func openLayer(l v1.Layer) (io.ReadCloser, error) {
	raw, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	text := bufio.NewReader(raw)
	if head, _ := text.Peek(len(zstdMagic)); bytes.Equal(head, zstdMagic) {
		return openZstd(text, raw.Close)
	}
	_ = raw.Close() // it is opened again, and then an error shows
	return l.Uncompressed()
}

func openZstd(text io.Reader, done func() error) (io.ReadCloser, error) {
	plain, err := zstd.NewReader(text, zstd.WithDecoderMaxWindow(mostZstdWindow))
	if err != nil {
		return nil, errors.Join(err, done())
	}
	return &opened{zstdReader{plain}, func() error { plain.Close(); return done() }}, nil
}

// zstdReader says what to do where the file wants too much memory.
type zstdReader struct{ *zstd.Decoder }

func (z zstdReader) Read(into []byte) (int, error) {
	n, err := z.Decoder.Read(into)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = exit.Wrongf("it was compressed with --long, and needs more than %d MiB of memory; recompress it without --long", mostZstdWindow>>20)
	}
	return n, err
}
