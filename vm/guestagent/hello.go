package guestagent

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"io"
)

// mark starts a session, wherever the previous session was interrupted. It is a hash, so
// that no file that may be copied into a guest contains it, such as this program.
var mark = func() []byte {
	hash := fnv.New128a()
	_, _ = hash.Write([]byte("nines: a session of the agent begins")) // never fails
	return hash.Sum(nil)
}()

const (
	nonceBytes = 16
	helloBytes = 16 + nonceBytes
)

// errHello ends the reads of a session: the next one starts.
var errHello = errors.New("another session begins")

// newHello is the mark and a random number.
func newHello() []byte {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // never fails, crypto/rand
	return append(bytes.Clone(mark), nonce...)
}

// skipTo reads up to and including the number that the guest repeats.
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

// watched is the guest's port, and detects the start of a session: the host sends nothing
// after a hello until it is answered, so a hello is always the last thing read.
type watched struct {
	io.ReadWriter
	last []byte
}

// Read fails with errHello after a hello until take is called.
func (w *watched) Read(p []byte) (int, error) {
	if bytes.HasPrefix(w.last, mark) && len(w.last) == helloBytes {
		return 0, errHello
	}
	n, err := w.ReadWriter.Read(p)
	w.last = append(w.last, p[max(0, n-helloBytes):n]...)
	w.last = w.last[max(0, len(w.last)-helloBytes):]
	return n, err
}

// Close does nothing, because the next session uses the port too.
func (w *watched) Close() error { return nil }

// take returns the number of the hello.
func (w *watched) take() []byte {
	nonce := w.last[helloBytes-nonceBytes:]
	w.last = nil
	return nonce
}
