package packetfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// Compression is how a file is compressed.
type Compression string

// The compressions that can be read.
const (
	Plain Compression = ""
	Gzip  Compression = "gzip"
	Zstd  Compression = "zstd"
)

// maxZstdWindow limits the memory that a file may demand: the default limit of the zstd program,
// and what its highest level needs (128 MiB, zstd(1) --long).
const maxZstdWindow = 128 << 20

// A capture of equal packets at equal distances shrinks to a hundredth. What grows to much more is
// made to fill the memory of who reads it: a kilobyte of zstd can hold a gigabyte.
const (
	maxExpansion  = 1000
	freeExpansion = 64 << 20 // bytes that any file may decompress to
)

// errExpands means that a file holds far more than a capture of its size can.
var errExpands = fmt.Errorf("it grows to more than %d times its size, which no capture does", maxExpansion)

// expanding reads a decompressed stream up to that limit.
type expanding struct {
	stream io.Reader
	left   int64
}

func (e *expanding) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, errExpands
	}
	n, err := e.stream.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	return n, err
}

// expands limits a decompressed stream.
func (s *source) expands(stream io.Reader) io.Reader {
	return &expanding{stream, max(freeExpansion, maxExpansion*s.size)}
}

// source is the decompressed file.
type source struct {
	file        *os.File
	path        string
	size        int64 // file size when it was opened
	compression Compression
	stream      io.Reader // what the file contains
	zstd        *zstd.Decoder
	gzip        *gzip.Reader
	raw         counted
}

// counted reads the file, counts the bytes, and keeps its own errors, which distinguish a bad disk
// from a bad file.
type counted struct {
	file *os.File
	done int64
	err  error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.done += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// openSource opens a regular file, because captures are read more than once. It does not wait for
// the writer of a FIFO.
func openSource(path string) (*source, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENXIO): // open(2): a socket
		return nil, readTwice(path, "socket")
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.Wrongf("%s: there is no such file", path)
	case err != nil:
		return nil, fmt.Errorf("open the capture: %w", err)
	}
	s := &source{file: file, path: path, raw: counted{file: file}}
	info, err := file.Stat()
	if err == nil {
		err = s.regular(info.Mode())
		s.size = info.Size()
	}
	if err == nil {
		err = s.recognise()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// Read ahead further than usual; only a hint.
	_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_SEQUENTIAL)
	return s, nil
}

func (s *source) regular(mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return exit.Wrongf("%s: is a directory; name the capture in it", s.path)
	case mode&fs.ModeNamedPipe != 0:
		return readTwice(s.path, "pipe")
	case mode&fs.ModeSocket != 0:
		return readTwice(s.path, "socket")
	default:
		return readTwice(s.path, "device")
	}
}

func readTwice(path, kind string) error {
	return exit.Wrongf("%s: is a %s, not a file; captures are read twice; write it to a file first", path, kind)
}

// recognise finds the compression by its magic number: RFC 1952 section 2.3.1, RFC 8878 sections
// 3.1.1 and 3.1.2 (a zstd file may begin with a skippable frame).
func (s *source) recognise() error {
	head := make([]byte, 4)
	n, err := s.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	switch head = head[:n]; {
	case n == 0:
		return exit.Wrongf("%s: is empty (0 bytes); the capture was not written; capture again", s.path)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		s.compression = Gzip
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}),
		n == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18}):
		s.compression = Zstd
	}
	return s.start()
}

// start goes to the beginning of the file.
func (s *source) start() error {
	if s.zstd != nil {
		_ = s.zstd.Reset(nil) // its goroutines may still read the file ahead
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	s.raw = counted{file: s.file}
	switch s.compression {
	case Gzip:
		return s.startGzip()
	case Zstd:
		return s.startZstd()
	}
	s.stream = &s.raw
	return nil
}

func (s *source) startGzip() (err error) {
	if s.gzip == nil {
		s.gzip, err = gzip.NewReader(&s.raw)
	} else {
		err = s.gzip.Reset(&s.raw)
	}
	if err != nil {
		return s.notCompressed(err)
	}
	s.stream = s.expands(s.gzip)
	return nil
}

func (s *source) startZstd() (err error) {
	if s.zstd == nil {
		// With one CPU everything runs in the calling goroutine; with more, the decoder runs in
		// parallel.
		concurrency := min(runtime.GOMAXPROCS(0), 4)
		s.zstd, err = zstd.NewReader(&s.raw, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderMaxWindow(maxZstdWindow))
	} else {
		err = s.zstd.Reset(&s.raw)
	}
	if err != nil {
		return s.notCompressed(err)
	}
	s.stream = s.expands(s.zstd)
	return nil
}

func (s *source) notCompressed(err error) error {
	if s.raw.err != nil {
		return fmt.Errorf("read %s: %w", s.path, s.raw.err)
	}
	remedy := "copy or capture it again"
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		remedy = "it was compressed with --long: decompress it with zstd -d --long=31 first"
	}
	return exit.Wrongf("%s: begins like %s, but cannot be decompressed (%v); %s", s.path, s.compression, err, remedy)
}

func (s *source) close() error {
	if s.zstd != nil {
		s.zstd.Close()
	}
	return s.file.Close()
}
