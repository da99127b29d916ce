package packetfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// source is the decompressed file.
type source struct {
	file        *os.File
	path        string
	size        int64 // file size when it was opened
	compression Compression
	stream      io.Reader // what the file contains
	raw         counted
	decompressor
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
	head := make([]byte, 6)
	n, err := s.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	if n == 0 {
		return exit.Wrongf("%s: is empty (0 bytes); the capture was not written; capture again", s.path)
	}
	s.compression = compressionOf(head[:n])
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
	if s.compression != Plain {
		return s.decompress()
	}
	s.stream = &s.raw
	return nil
}

func (s *source) close() error {
	if s.zstd != nil {
		s.zstd.Close()
	}
	return s.file.Close()
}
