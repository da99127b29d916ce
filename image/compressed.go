package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/exit"
)

// The beginnings of compressed files: RFC 1952, RFC 8878, and section 2.1.1.1 of the xz format.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	xzMagic   = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
)

// openTar opens a tar file that may be compressed; the content tells by what.
func openTar(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
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
		plain, err := zstd.NewReader(text)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &opened{plain, func() error { plain.Close(); return file.Close() }}, nil
	case bytes.HasPrefix(head, xzMagic):
		return openXZ(text, file.Close)
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

// openXZ runs xz, as Go's libraries for it take ten times as long.
func openXZ(text io.Reader, done func() error) (io.ReadCloser, error) {
	program, err := exec.LookPath("xz")
	if err != nil {
		return nil, errors.Join(&exit.MissingError{
			Capability: "xz", Reason: "the image is compressed by xz, which is not there", Remedy: "apt-get install xz-utils",
		}, done())
	}
	cmd := exec.Command(program, "--decompress", "--stdout")
	cmd.Stdin = text
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, done())
	}
	ended := &xzReader{out: out, cmd: cmd, said: &said}
	return &opened{ended, func() error {
		ended.stop()
		return done()
	}}, nil
}

// xzReader turns a failure of xz into an error at the end of what it has read.
type xzReader struct {
	out  io.ReadCloser
	cmd  *exec.Cmd
	said *bytes.Buffer
	end  error
}

func (x *xzReader) Read(into []byte) (int, error) {
	if x.end != nil {
		return 0, x.end
	}
	n, err := x.out.Read(into)
	if errors.Is(err, io.EOF) {
		x.end = io.EOF
		if failed := x.cmd.Wait(); failed != nil {
			x.end = fmt.Errorf("xz: %w: %s", failed, bytes.TrimSpace(x.said.Bytes()))
		}
		err = x.end
	}
	return n, err
}

func (x *xzReader) stop() {
	if x.end == nil {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
		x.end = os.ErrClosed
	}
}
