package agent

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// kind says what a frame holds.
type kind uint8

// The kinds of frames, and which way they go.
const (
	kindHello    kind = iota + 1 // both ways: the session's random number
	kindStart                    // to the guest: a request, as JSON
	kindInput                    // to the guest: standard input
	kindInputEnd                 // to the guest: the end of standard input
	kindSignal                   // to the guest: a signal's number, one byte
	kindResize                   // to the guest: rows and columns, two bytes each
	kindOutput                   // to the host: standard output
	kindError                    // to the host: standard error
	kindExit                     // to the host: an outcome, as JSON; the command's last frame
	kindAck                      // both ways: bytes taken of a stream, kind and four bytes
	kindPowerOff                 // to the guest: end the machine
)

const (
	nonceBytes  = 16
	headerBytes = 1 + 4 + 4
	// maxPayload keeps one command's data from holding up another's for long.
	maxPayload = 16 << 10
	// maxFrame bounds what a start may hold.
	maxFrame = 1 << 20
)

// frame is one message. Its numbers are in little-endian byte order.
type frame struct {
	kind    kind
	command uint32
	payload []byte
}

// frameWriter writes whole frames, from any goroutine.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *frameWriter) write(f frame) error {
	buffer := make([]byte, headerBytes, headerBytes+len(f.payload))
	buffer[0] = byte(f.kind)
	binary.LittleEndian.PutUint32(buffer[1:], f.command)
	binary.LittleEndian.PutUint32(buffer[5:], uint32(len(f.payload)))
	buffer = append(buffer, f.payload...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(buffer)
	return err
}

func readFrame(r *bufio.Reader) (frame, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: kind(header[0]), command: binary.LittleEndian.Uint32(header[1:])}
	length := binary.LittleEndian.Uint32(header[5:])
	if f.kind < kindHello || f.kind > kindPowerOff || length > maxFrame {
		return frame{}, fmt.Errorf("a frame of kind %d with %d bytes: this is not the agent's protocol", f.kind, length)
	}
	f.payload = make([]byte, length)
	_, err := io.ReadFull(r, f.payload)
	return f, err
}
