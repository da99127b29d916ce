package agent

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"io"
)

// mark is how the host begins a session, wherever the session before was interrupted. It
// is a hash, so that no file holds it that may be copied into a guest, such as this program.
var mark = func() []byte {
	hash := fnv.New128a()
	_, _ = hash.Write([]byte("nines: a session of the agent begins")) // does not fail
	return hash.Sum(nil)
}()

const (
	nonceBytes = 16
	helloBytes = 16 + nonceBytes
)

// errHello is the end of what a session may read: the next one begins.
var errHello = errors.New("another session begins")

// newHello is the mark and a random number.
func newHello() []byte {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // does not fail, crypto/rand says
	return append(bytes.Clone(mark), nonce...)
}

// skipTo reads up to and with the number that the guest repeats.
func skipTo(r *bufio.Reader, nonce []byte) error {
	var last []byte
	for !bytes.Equal(last, nonce) {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		last = append(last[max(0, len(last)-len(nonce)+1):], b)
	}
	return nil
}

// watched is the guest's port, of which it sees where a session begins: the host sends
// nothing after a hello until it is answered, so that one is the last that was read.
type watched struct {
	io.ReadWriter
	last []byte
}

// Read fails with errHello from a hello on until it is taken.
func (w *watched) Read(p []byte) (int, error) {
	if bytes.HasPrefix(w.last, mark) && len(w.last) == helloBytes {
		return 0, errHello
	}
	n, err := w.ReadWriter.Read(p)
	w.last = append(w.last, p[max(0, n-helloBytes):n]...)
	w.last = w.last[max(0, len(w.last)-helloBytes):]
	return n, err
}

// Close does nothing: the port is the next session's too.
func (w *watched) Close() error { return nil }

// take returns the number of the hello that was read.
func (w *watched) take() []byte {
	nonce := w.last[helloBytes-nonceBytes:]
	w.last = nil
	return nonce
}
