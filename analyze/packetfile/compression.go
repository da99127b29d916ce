package packetfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
	"github.com/pierrec/lz4/v4"

	"nines.dev/nines/exit"
)

// Compression is how a file is compressed.
type Compression string

// The compressions that can be read.
const (
	Plain Compression = ""
	Gzip  Compression = "gzip"
	Zstd  Compression = "zstd"
	LZ4   Compression = "lz4"
	XZ    Compression = "xz"
)

// compressionOf recognises a compression by the first bytes of a file.
func compressionOf(head []byte) Compression {
	begins := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case begins("\x1f\x8b"): // RFC 1952
		return Gzip
	// RFC 8878: a frame, or a skippable one.
	case begins("\x28\xb5\x2f\xfd"), len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}):
		return Zstd
	case begins("\x04\x22\x4d\x18"): // lz4_Frame_format.md
		return LZ4
	case begins("\xfd7zXZ\x00"): // xz-file-format.txt
		return XZ
	}
	return Plain
}

// Limits on the memory that a file may demand: what the highest level of each program needs (zstd(1)
// --long, xz(1) -9).
const (
	maxZstdWindow = 128 << 20
	maxXZDict     = 64 << 20
)

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

// decompressor is what is kept of a compressed file for reading it again.
type decompressor struct {
	zstd *zstd.Decoder
	gzip *members
}

// decompress sets the stream to what a compressed file contains.
func (s *source) decompress() (err error) {
	var stream io.Reader
	switch s.compression {
	case Gzip:
		s.gzip, err = openMembers(&s.raw)
		stream = s.gzip
	case Zstd:
		if s.zstd == nil {
			// With one CPU everything runs in the calling goroutine; with more, the decoder runs in
			// parallel.
			concurrency := min(runtime.GOMAXPROCS(0), 4)
			s.zstd, err = zstd.NewReader(&s.raw, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderMaxWindow(maxZstdWindow))
		} else {
			err = s.zstd.Reset(&s.raw)
		}
		stream = s.zstd
	case LZ4:
		stream = openFrames(&s.raw)
	case XZ:
		stream, err = xz.NewReader(&s.raw, maxXZDict)
	}
	if err != nil {
		return s.notCompressed(err)
	}
	s.stream = &expanding{stream, max(freeExpansion, maxExpansion*s.size)}
	return nil
}

func (s *source) notCompressed(err error) error {
	if s.raw.err != nil {
		return fmt.Errorf("read %s: %w", s.path, s.raw.err)
	}
	remedy := "copy or capture it again"
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		remedy = "it was compressed with --long: decompress it with zstd -d --long=31 first"
	case errors.Is(err, xz.ErrMemlimit):
		remedy = "it was compressed with a larger dictionary than xz -9 has: decompress it with xz -d first"
	}
	return exit.Wrongf("%s: begins like %s, but cannot be decompressed (%v); %s", s.path, s.compression, err, remedy)
}

// members reads the members of a gzip file up to what is none: padding, or other data that were
// appended, which gzip -d ignores as well.
type members struct {
	in     *bufio.Reader
	member *gzip.Reader
	ended  bool
}

func openMembers(raw io.Reader) (*members, error) {
	in := bufio.NewReader(raw)
	member, err := gzip.NewReader(in)
	if err == nil {
		member.Multistream(false)
	}
	return &members{in: in, member: member}, err
}

func (m *members) Read(p []byte) (int, error) {
	for !m.ended {
		n, err := m.member.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		head, err := m.in.Peek(2)
		if len(head) == 0 && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if compressionOf(head) != Gzip {
			m.ended = true
			break
		}
		if err := m.member.Reset(m.in); err != nil {
			return 0, err
		}
		m.member.Multistream(false)
	}
	return 0, io.EOF
}

// unused is how many bytes follow the last member, in a file of that size.
func (m *members) unused(read, size int64) int64 {
	if !m.ended {
		return 0
	}
	return size - read + int64(m.in.Buffered())
}

// frames reads the frames of an lz4 file.
type frames struct {
	in    *bufio.Reader
	frame *lz4.Reader
}

func openFrames(raw io.Reader) *frames {
	in := bufio.NewReader(raw)
	return &frames{in, lz4.NewReader(in)}
}

func (f *frames) Read(p []byte) (int, error) {
	for {
		n, err := f.frame.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		if _, err := f.in.Peek(1); err != nil {
			return 0, err
		}
		f.frame.Reset(f.in)
	}
}
